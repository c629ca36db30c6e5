/** Loaded with --import: the server appends no events. */
import { replaceFunction } from "./replace-function.ts";

replaceFunction("/src/events/outbox.ts", "export async function appendEvent(", "export async function appendEvent() {}");
