/** Parts of a protocol frame whose requests no audit log records. */
import { systemClock } from "../../src/lib/clock.ts";

export const unaudited = { clock: systemClock, recorder: { record() {} } };
