/** Configures fast-check with a fixed seed, so that a commit is always tested with the same cases; TEST_SEED chooses others. */
import fc from "fast-check";
import { seedOf } from "./random.ts";

fc.configureGlobal({ seed: seedOf(1) });

export default fc;
