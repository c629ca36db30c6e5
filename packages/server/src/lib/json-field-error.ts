/**
 * The error of a value that does not fit its field. JSON and query parsers throw it; transports answer
 * INVALID_ARGUMENT.
 */
export class JsonFieldError extends Error {
  override readonly name = "JsonFieldError";
  /** Path below the parsed message, e.g. `sync_config.source`, `aliases[2]`, `labels["a"]`; empty for the message. */
  readonly path: string;
  readonly description: string;

  constructor(path: string, description: string) {
    super(path === "" ? description : `${path}: ${description}`);
    this.path = path;
    this.description = description;
  }

  /** Prefixes the path of `cause` with `step`; other errors become a JsonFieldError at `step`. */
  static within(step: string, cause: unknown): JsonFieldError {
    if (!(cause instanceof JsonFieldError)) return new JsonFieldError(step, cause instanceof Error ? cause.message : String(cause));
    const glue = cause.path === "" || cause.path.startsWith("[") ? "" : ".";
    return new JsonFieldError(`${step}${glue}${cause.path}`, cause.description);
  }
}
