import { systemClock, type Clock } from "../../internal/Clock.ts";

/** How long an aborted or moved visit waits for what ignores its signal. What has not ended then is left behind. */
export interface AbortGrace {
  /** In milliseconds. */
  readonly ms: number;
  readonly clock: Clock;
}

/** Where no feature sets another. */
export const defaultAbortGrace: AbortGrace = { ms: 5_000, clock: systemClock };
