/** Starts a call that runs until the test lets it end. */
import { connect, type Socket } from "node:net";

const BODY = JSON.stringify({ name: "made-while-stopping" });

export interface OpenCall {
  readonly socket: Socket;
  /** All that the server sends, when the connection is closed. */
  readonly answer: Promise<string>;
  /** Sends the last byte. */
  finish(): void;
}

export interface CallTarget {
  readonly port: number;
  readonly token: string;
  readonly orgUid: string;
}

/** Starts a Create whose last byte is not sent; it runs until the byte arrives. */
export async function openCall({ port, token, orgUid }: CallTarget): Promise<OpenCall> {
  const socket = connect(port, "127.0.0.1");
  const answer = new Promise<string>((resolve) => {
    let text = "";
    socket.on("data", (chunk) => (text += chunk)).on("error", () => {});
    socket.once("close", () => resolve(text));
  });
  socket.write(
    `POST /iam/v2/groups/${orgUid} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  // The server has read the headers when it asks for the body.
  await new Promise((resolve) => socket.once("data", resolve));
  socket.write(BODY.slice(0, -1));
  return { socket, answer, finish: () => void socket.write(BODY.slice(-1)) };
}
