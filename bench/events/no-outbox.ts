/** Loaded with --import: the server appends no events. */
import { replaceFunction } from "./replace-function.ts";

replaceFunction("/src/outbox/outbox.ts", "export async function appendEvent(", "export async function appendEvent() {}");
