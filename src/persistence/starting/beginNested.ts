import type {
  BranchBeginning,
  BranchEvent,
  AgentCallBeginning,
  AgentCallEvent,
} from "../../agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { LanePlace, LaneRecord } from "../../checkpoint/records/lineRecords.ts";
import { LineCalls } from "../saving/LineCalls.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { recorders } from "../saving/recorders.ts";
import { newLine } from "./startRecorder.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { FeatureNotInstalledError, UnknownToolError } from "../../errors/agentErrors.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { structureRecord, structureReference } from "../saving/strategyRecord.ts";

type Next<Event, Beginning> = (event: Event) => Promise<Beginning>;

/** Starts a branch, or continues it from the log. A finished branch does not run again. */
export async function beginBranch(
  event: BranchEvent,
  next: Next<BranchEvent, BranchBeginning>,
): Promise<BranchBeginning> {
  const beginning = await next(event);
  if ("result" in beginning) return beginning;
  const { key, run } = event;
  const parent = recorders.of(run);
  const place = { parent: parent.lane, fork: parent.forks.version ?? 0, branch: key };
  const stored = parent.stored?.branch(parent, place, run.state);
  if (stored && "result" in stored) {
    parent.forks.addBranch(key, stored.lanes);
    return { result: stored.result };
  }
  const recorder = stored?.recorder ?? begunBranch(parent, place, beginning.start);
  parent.forks.addBranch(key, recorder.line.lanes);
  recorders.add(recorder);
  return { start: recorder.start };
}

function begunBranch(parent: RunRecorder, place: LanePlace, start: RunStart): RunRecorder {
  const { setup, structure, decisions } = parent;
  const { isRefusedCall } = parent.start;
  const keep = start.state.messages ? "all" : "state";
  const calls = new LineCalls(parent.calls.earlier, parent.calls);
  const begins: RunStart = {
    ...start,
    isRecordedCall: (call) => calls.isKnown(call),
    findCalls: (message) => calls.earlier?.find(message),
    ...(isRefusedCall && { isRefusedCall }),
  };
  const opening = (lane: number): readonly LaneRecord[] => [{ kind: "lane", lane, place, keep }];
  return newLine(parent, setup, begins, { place, structure, restored: decisions, calls, opening });
}

/**
 * Starts a sub-agent for a tool call, or continues it from the log. A finished sub-agent does not run again.
 * @throws FeatureNotInstalledError, UnknownToolError
 */
export async function beginAgentCall(
  event: AgentCallEvent,
  next: Next<AgentCallEvent, AgentCallBeginning>,
): Promise<AgentCallBeginning> {
  const beginning = await next(event);
  if ("output" in beginning) return beginning;
  const { callee, toolName, toolCallId } = event;
  const parent = recorders.of(event.run);
  const setup = parent.setup.nested(callee);
  if (!setup) {
    const advice = "Add .install(Persistence); it needs no storage.";
    throw new FeatureNotInstalledError("Persistence", `The agent that tool "${toolName}" calls`, advice);
  }
  // A resume or a rollback finds the sub-agent by the name of its tool.
  if (parent.setup.at([toolName]) !== setup) throw new UnknownToolError(toolName, [...parent.setup.tools.keys()]);
  const place = { parent: parent.lane, call: toolCallId };
  const stored = parent.stored?.agent(parent, setup, place);
  if (stored && "output" in stored) return stored;
  const recorder = stored?.recorder ?? begunAgent(parent, setup, place, beginning.start);
  recorders.add(recorder);
  return { start: recorder.start };
}

function begunAgent(parent: RunRecorder, setup: PersistenceSetup, place: LanePlace, start: RunStart): RunRecorder {
  const { journal } = parent;
  const structure = structureRecord(setup, 0, journal);
  const opening = (lane: number): readonly AgentRecord[] => [
    { kind: "lane", lane, place, keep: "nothing" },
    structureReference({ ...structure, lane }, journal),
  ];
  return newLine(parent, setup, start, { place, structure, opening });
}
