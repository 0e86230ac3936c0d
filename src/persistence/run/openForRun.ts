import type { RunOptions, RunRequest } from "../../agent/feature/RunRequest.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { OwnTurn } from "./joinOrRun.ts";
import type { RevertibleCall, RunResult } from "../../agent/feature/RunResult.ts";
import { type DurableCall, signalOf } from "./DurableCall.ts";
import type { OpenedForRun } from "./openWhenBusy.ts";

/**
 * Opens an agent for a call of `run` or `resume`. If another owner runs the agent, `whenBusy` of the call decides.
 *
 * @throws AgentBusyError while another owner is alive and the call does not wait.
 * @throws RunStoppedError if the joined run stops without a result.
 */
export async function openForRun(setup: PersistenceSetup, request: RunRequest, turn: OwnTurn): Promise<OpenedForRun> {
  const { agentId, options, kind } = request;
  const { whenBusy = "reject" } = options as RunOptions;
  const open = () => setup.openJournal(agentId, options.takeOver ? "take_over" : undefined, kind === "resume");
  if (whenBusy === "reject") return { journal: await open(), request, replaces: false };
  const { openWhenBusy } = await import("./openWhenBusy.ts");
  return openWhenBusy(setup, { request, whenBusy, turn, open });
}

/** Finishes an interrupted rollback. @returns the calls not reverted, empty unless the caller abandons runs. */
export async function finishOpenRollback(call: DurableCall): Promise<readonly RevertibleCall[]> {
  const { setup, journal } = call;
  const { options } = call.request;
  if (!journal.head?.log.index.rollback) return [];
  const { finishRollback } = await import("../rollback/rollBack.ts");
  const abandons = "unfinished" in options && options.unfinished === "abandon";
  const { left } = await finishRollback(setup, journal, abandons ? "leave" : "stop", signalOf(call));
  await journal.readHead();
  return (abandons ? left : []).map(({ error: _error, ...reverting }) => reverting);
}

export function withEffects(result: RunResult<unknown>, remaining: readonly RevertibleCall[]): RunResult<unknown> {
  if (result.status !== "completed" || remaining.length === 0) return result;
  return { ...result, effects: { missing: [], remaining } };
}
