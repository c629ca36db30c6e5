/** A tool whose settings `holt configure` writes. */

/** The server and the credential that the settings name. */
export interface Target {
  /** URL of the server. */
  readonly url: string;
  /** Host and port. */
  readonly host: string;
  /** Names of the group from the organization down. */
  readonly path: string;
  readonly userName: string;
  readonly password: string;
}

export interface FileChange {
  readonly path: string;
  /** Undefined if the file does not exist. */
  readonly before: string | undefined;
  readonly after: string;
  /** Only the user may read the file. */
  readonly isSecret: boolean;
}

export interface Tool {
  readonly title: string;
  /** Rights of the pull token that the settings contain, as the contract names them; none for tools that ask holt. */
  readonly rights: readonly string[];
  /** Undefined for a tool whose settings are printed. */
  readonly files?: (target: Target) => FileChange[];
  readonly print?: (target: Target) => string;
  /** Printed after the change. */
  readonly hint?: (target: Target) => string;
}
