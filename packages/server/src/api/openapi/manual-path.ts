/** Address of the manual. The manual itself is loaded at its first request. */
export const MANUAL_PATH = "/docs/manual";
