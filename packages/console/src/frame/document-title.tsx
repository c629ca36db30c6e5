/** Titles of the page in the browser. Its tabs, history and bookmarks, and screen readers, tell screens apart by them. */
import { useRouterState } from "@tanstack/react-router";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { screens } from "../app/screens.ts";

const ObjectNames = createContext<(name: string) => void>(() => undefined);

/** @param parts from the narrowest to the widest; empty ones are left out */
export function useDocumentTitle(...parts: readonly (string | undefined)[]): void {
  const title = [...parts, "Holt"].filter((part) => part !== undefined && part !== "").join(" – ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}

/** Tells the frame the name of the object that the screen shows, or of the page in its place. */
export function useObjectName(name: string): void {
  const tell = useContext(ObjectNames);
  useEffect(() => {
    tell(name);
    return () => tell("");
  }, [tell, name]);
}

export interface TitledProps {
  /** Name of the organization; undefined until it is known. */
  readonly organization: string | undefined;
  readonly children: ReactNode;
}

/** Titles the screens of an organization, such as "base – Image repository – my-org – Holt". */
export function Titled({ organization, children }: TitledProps) {
  const [object, setObject] = useState("");
  const route = useRouterState({ select: ({ matches }) => String(matches.at(-1)?.fullPath ?? "") });
  const screen = screens.find((each) => withoutSlash(route) === withoutSlash(`/$organization${each.path}`));
  useDocumentTitle(object, screen?.title, organization);
  return <ObjectNames value={setObject}>{children}</ObjectNames>;
}

function withoutSlash(path: string): string {
  return path.replace(/\/$/, "");
}
