/** Colour for people: only on a terminal, and never with NO_COLOR. */
import { styleText } from "node:util";

type Style = "red" | "green" | "yellow" | "cyan" | "bold" | "dim";

export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return hasColor(stream) ? styleText(style, text, { validateStream: false }) : text;
}

function hasColor(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR, TERM } = process.env;
  return stream.isTTY === true && (NO_COLOR === undefined || NO_COLOR === "") && TERM !== "dumb";
}
