/**
 * Lets undici accept a response of status 100, which a server may send unasked (RFC 9110 §15.2). Undici ends the connection at
 * that status, but passes over all other interim responses. So it reads 102 in place of 100.
 */
import type { Socket } from "node:net";

const STATUS_LINE_LENGTH = "HTTP/1.1 100".length;
const INTERIM = /^HTTP\/1\.\d 1\d\d$/;
const CONTINUE = /^HTTP\/1\.\d 100$/;

/** A write begins the next request. */
export function acceptContinue<Connection extends Socket>(socket: Connection): Connection {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let replaceContinue = createReplacement();
  socket.read = (size) => {
    const bytes = read(size) as Buffer | null;
    if (bytes !== null) replaceContinue(bytes);
    return bytes;
  };
  socket.write = (...args: unknown[]) => {
    replaceContinue = createReplacement();
    return write(...args);
  };
  return socket;
}

/** Replaces the status in the bytes of an answer as they arrive. Looks at no byte after the status of the final response. */
function createReplacement(): (bytes: Buffer) => void {
  /** The beginning of the current line, as long as a status line up to its status. */
  let line = "";
  let isStatusLine = true;
  let isFinal = false;

  /** @returns whether the line is one of status 100, and this character is the last one of the status */
  function endsContinue(character: string): boolean {
    if (character === "\n") {
      // An empty line ends an interim response, and the next response follows.
      isStatusLine ||= line === "";
      line = "";
    } else if (character !== "\r" && line.length < STATUS_LINE_LENGTH) line += character;
    if (!isStatusLine || line.length < STATUS_LINE_LENGTH) return false;
    isStatusLine = false;
    isFinal = !INTERIM.test(line);
    return CONTINUE.test(line);
  }

  return (bytes) => {
    for (let at = 0; at < bytes.length && !isFinal; at++) if (endsContinue(String.fromCharCode(bytes[at]!))) bytes.write("2", at);
  };
}
