/** The thread of parsers.ts: runs any parser by the module and the name of its function. */
import { doJobs } from "./job-thread.ts";
import type { ParsingJob } from "./parsers.ts";

doJobs<ParsingJob, never, never, unknown>(async ({ module, name, input }) => {
  const parsers = (await import(module)) as Record<string, (input: unknown) => unknown>;
  const parse = parsers[name];
  if (parse === undefined) throw new Error(`${module} has no parser ${name}`);
  return parse(input);
});
