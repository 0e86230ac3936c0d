import { pause } from "../../internal/pause.ts";
import { systemClock } from "../../internal/Clock.ts";
import { RunStoppedError } from "../../errors/run/RunStoppedError.ts";
import type { HostedAgents } from "../hosted/HostedAgents.ts";
import type { RunRecords } from "../hosted/RunRecords.ts";

/** How often a run of another process is looked at, in milliseconds. */
const everyMs = 100;

/**
 * How to wait for what a run records next; it rejects when the run ends without it, or when nobody carries it out any more.
 *
 * @returns `undefined` when no run is going on or waits.
 */
export async function followed(
  hosted: HostedAgents,
  records: RunRecords,
  signal: AbortSignal = new AbortController().signal,
): Promise<(() => Promise<void>) | undefined> {
  const isFollowed = async () =>
    records.exists &&
    (records.status === "waiting" || (records.status === "in_progress" && (await hosted.isRunning(records.agentId))));
  if (!(await isFollowed())) return undefined;
  return async () => {
    if (records.status !== "in_progress") throw new RunStoppedError(records.agentId, records.status);
    const isRunning = await hosted.isRunning(records.agentId);
    await records.read();
    if (!isRunning && records.status === "in_progress") throw new RunStoppedError(records.agentId, "interrupted");
    await pause(systemClock, everyMs, signal);
    signal.throwIfAborted();
  };
}
