/** A value that does not fit its field, and where: what readers of JSON and of query parameters throw. Transports make INVALID_ARGUMENT of it. */
export class JsonFieldError extends Error {
  override readonly name = "JsonFieldError";
  /** From the message that was read to the field, e.g. `sync_config.source`, `aliases[2]`, `labels["a"]`; empty for the message itself. */
  readonly path: string;
  readonly description: string;

  constructor(path: string, description: string) {
    super(path === "" ? description : `${path}: ${description}`);
    this.path = path;
    this.description = description;
  }

  /** The error that `cause` is when seen from one level further out. */
  static within(step: string, cause: unknown): JsonFieldError {
    if (!(cause instanceof JsonFieldError)) return new JsonFieldError(step, cause instanceof Error ? cause.message : String(cause));
    const glue = cause.path === "" || cause.path.startsWith("[") ? "" : ".";
    return new JsonFieldError(`${step}${glue}${cause.path}`, cause.description);
  }
}
