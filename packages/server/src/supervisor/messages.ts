/** The messages between the supervisor and a server process. */

export type ToServer =
  | { readonly kind: "start" /** Number of the process, from 1. */; readonly process: number }
  | { readonly kind: "stop"; readonly signal: NodeJS.Signals }
  | { readonly kind: "scrape"; readonly id: number };

export type ToSupervisor =
  /** Asks for the start: what is sent before the process listens is lost. */
  | { readonly kind: "hello" }
  | { readonly kind: "ready" /** Link of the first start. */; readonly signInLink: string | undefined }
  | { readonly kind: "scraped" /** Id of the request. */; readonly id: number; readonly text: string };
