import type { RecordedRequirements, RunStateSeed } from "../../agent/state/RunState.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import { nextVisitOf, type AgentState } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { RequirementsRecord } from "../../checkpoint/records/lineRecords.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";

export interface RestoreOptions {
  readonly agentId: string;
  readonly state: AgentState;
  readonly reader: ValueReader;
  readonly index: LogProjection;
  /** The lane that the run goes on in: the state's own, or one that begins from it. */
  readonly lane: number;
  readonly runId: string;
  readonly generation: number;
  readonly nextNumber: number;
}

/** A stored state as the start of a run: what runs next, with everything it knew. */
export function restoreRun({
  agentId,
  state,
  reader,
  index,
  lane,
  runId,
  generation,
  nextNumber,
}: RestoreOptions): RunStart {
  const record = state.checkpoint?.record;
  const [visitBase, visitOrdinal] = nextVisitOf(state);
  const recorded = new Set([...state.calls.values()].filter((call) => index.counts(call)).map(({ call }) => call));
  return {
    nodeId: record?.node ?? "start",
    input: reader.read(record ? record.input : state.run?.input),
    ...(record?.unresolved && { unresolved: true }),
    state: seedOf(state, reader, nextNumber),
    line: { agentId, runId, lane },
    generation,
    visitBase,
    visitOrdinal,
    runId,
    isRecordedCall: (id) => recorded.has(id),
  };
}

function seedOf(state: AgentState, reader: ValueReader, nextMessage: number): RunStateSeed {
  const { checkpoint, settings, requirements, decisions } = state;
  const messages = state.history.map(({ number, message }) => ({ number, message: reader.read(message) as Message }));
  const { progress, summary } = checkpoint?.record ?? {};
  return {
    // Without a checkpoint the run begins, with a fresh history unless it continues another's.
    ...((checkpoint || messages.length > 0) && { messages }),
    nextMessage,
    storage: new Map([...state.storage].map(([key, slot]) => [key, reader.read(slot)])),
    ...(settings && {
      settings: freezeInPlace({
        model: settings.model,
        tools: settings.tools,
        ...(settings.parameters !== undefined && {
          parameters: reader.read(settings.parameters) as Record<string, unknown>,
        }),
      }),
    }),
    iteration: checkpoint?.record.iteration ?? 0,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { progressSummary: summary }),
    decisions: decisions.map(({ decision, reason }) => ({ decision, ...(reason !== undefined && { reason }) })),
    ...(requirements && { requirements: requirementsOf(requirements) }),
  };
}

function requirementsOf({ files, environment, directory, hashes }: RequirementsRecord): RecordedRequirements {
  return {
    files,
    environment,
    ...(directory !== undefined && { workingDirectory: directory }),
    ...(hashes && { hashes }),
  };
}
