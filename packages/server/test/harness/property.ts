/** fast-check with the seed of this run, so that a check of one commit always tries the same cases; TEST_SEED tries others. */
import fc from "fast-check";
import { seedOf } from "./random.ts";

fc.configureGlobal({ seed: seedOf(1) });

export default fc;
