import { pause, systemClock } from "../../internal/Clock.ts";
import { AgentBusyError } from "../../errors/storageErrors.ts";
import { RunStoppedError } from "../../errors/runErrors.ts";
import type { HostedAgents } from "../hosted/HostedAgents.ts";
import type { RunRecords } from "../hosted/RunRecords.ts";

/** The polling interval for a run of another process, in milliseconds. */
const everyMs = 100;

/**
 * Returns a function that waits for new records of a run. The function rejects if the run finishes without them or
 * loses its process.
 *
 * @returns `undefined` if the run is neither in progress nor waiting
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

/** Returns whether a run is unfinished because its process died. */
export async function isAbandoned(hosted: HostedAgents, records: RunRecords): Promise<boolean> {
  if (!records.exists || (await hosted.isRunning(records.agentId))) return false;
  // The run may have finished before its owner released it.
  await records.read();
  return records.status === "in_progress";
}

/** Returns the result of `work`. Returns `undefined` after a pause if another process owns the agent. */
export async function unlessBusy<Result>(
  work: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AgentBusyError)) throw error;
    await pause(systemClock, everyMs, signal);
    signal?.throwIfAborted();
    return undefined;
  }
}
