import { type Clock, systemClock } from "../../internal/Clock.ts";

/** The system's clock, its monotonic time counted from the start of the machine: the same for all of its processes. */
export const machineClock: Clock = { ...systemClock, monotonic: () => Number(process.hrtime.bigint()) / 1e6 };
