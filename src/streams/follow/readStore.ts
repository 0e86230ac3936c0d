import { withinTime } from "../../internal/abortable.ts";
import { systemClock } from "../../internal/Clock.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warnOnce } from "../../internal/warn.ts";
import type { StreamEntry, StreamPlace, StreamStore } from "../store/StreamStore.ts";

interface ReadLimit {
  /** In milliseconds. Defaults to 5 seconds. */
  readonly ms?: number | undefined;
  readonly signal: AbortSignal;
}

/** Reads the chunks of an agent. Returns no entries if the store fails or does not answer in time. */
export async function readStore(
  store: StreamStore,
  agentId: string,
  after: StreamPlace,
  { ms = 5_000, signal }: ReadLimit,
): Promise<readonly StreamEntry[]> {
  const late = (): Error => new Error(`The store did not answer within ${ms} ms.`);
  try {
    return await withinTime({ ms, clock: systemClock, late }, signal, () => store.read(agentId, after));
  } catch (error) {
    if (!signal.aborted)
      warnOnce(
        "stream_store_failed",
        `read of a stream store failed. Clients see the stored responses: ${reasonOf(error)}`,
      );
    return [];
  }
}
