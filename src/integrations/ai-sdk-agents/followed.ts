import { pause } from "../../internal/pause.ts";
import { systemClock } from "../../internal/Clock.ts";
import { AgentBusyError } from "../../errors/storage/AgentBusyError.ts";
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

/** Whether a run is unfinished because its process has died. */
export async function isAbandoned(hosted: HostedAgents, records: RunRecords): Promise<boolean> {
  if (!records.exists || (await hosted.isRunning(records.agentId))) return false;
  // It may have ended meanwhile.
  await records.read();
  return records.status === "in_progress";
}

/** Returns the result of work, or `undefined` after a pause if another process has the agent. */
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
