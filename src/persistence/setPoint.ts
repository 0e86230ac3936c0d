import type { AgentRun } from "../agent/AgentRun.ts";
import type { RunState } from "../agent/RunState.ts";
import type { RunStateSeed } from "../agent/RunStateSeed.ts";
import type { Message } from "../checkpoint/Message.ts";
import type { AgentRecord, CheckpointRecord, LaneRecord } from "../checkpoint/records.ts";
import type { PersistenceSetup } from "./PersistenceSetup.ts";
import { RunSession } from "./RunSession.ts";
import { structureRecord } from "./strategyRecord.ts";

export interface PointOptions {
  readonly setup: PersistenceSetup;
  readonly session: RunSession;
  readonly run: AgentRun;
  /** The node that is left. */
  readonly leaving: string;
  /** The path of the node that runs next. */
  readonly node: string;
  readonly input: unknown;
  /** Absent: the history stays. */
  readonly messageHistory?: readonly Message[];
  readonly move: "execution_point" | "rollback";
  /** Calls whose effects stay. */
  readonly standing: readonly string[];
}

/** Begins a line at another node with the state of this moment; no effect is taken back. Durable when it resolves. */
export async function setPoint(options: PointOptions): Promise<RunSession> {
  const { setup, session, run, node, messageHistory, move, standing } = options;
  const { journal } = session;
  const { state } = run;
  if (messageHistory) state.history.rewrite(() => messageHistory);
  const input = journal.writer.input(options.input, `the input of node ${JSON.stringify(node)}`, (message) =>
    state.history.numberOf(message),
  );
  const lane = journal.nextLane++;
  const unsaved = session
    .takeUnsaved(run, options.leaving)
    .map((record): AgentRecord => ("lane" in record && record.kind !== "lane" ? { ...record, lane } : record));
  const from = session.head?.version;
  const start: LaneRecord = {
    kind: "lane",
    lane,
    ...(from !== undefined && { from }),
    keep: from === undefined ? "nothing" : "all",
  };
  const version = journal.nextVersion++;
  journal.nextNumber = Math.max(journal.nextNumber, state.history.next);
  const { iteration, progress, progressSummary: summary } = state;
  const checkpoint: CheckpointRecord = {
    kind: "checkpoint",
    lane,
    version,
    at: journal.clock.now(),
    node,
    input,
    iteration,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { summary }),
    move,
    ...(standing.length > 0 && { standing }),
  };
  journal.append([start, ...unsaved, checkpoint]);
  await journal.durable();
  return new RunSession({
    journal,
    lane,
    run: session.run,
    structure: structureRecord(setup.graph, lane, journal),
    automatic: session.automatic,
    start: {
      nodeId: node,
      input: options.input,
      state: seedFrom(state),
      line: { agentId: journal.agentId, runId: session.run.run, lane },
      generation: journal.generation,
      visitBase: version,
      visitOrdinal: 0,
      runId: session.run.run,
    },
    recording: undefined,
    opening: [],
    restored: session.decisions,
    createdAt: session.createdAt,
    head: { version, id: `${journal.generation}-${version}` },
  });
}

function seedFrom(state: RunState): RunStateSeed {
  const { progress, progressSummary } = state;
  return {
    messages: state.history.entries,
    nextMessage: state.history.next,
    storage: state.storage.values,
    settings: state.settings,
    iteration: state.iteration,
    ...(progress !== undefined && { progress }),
    ...(progressSummary !== undefined && { progressSummary }),
    decisions: state.decisions,
    requirements: state.requirements,
  };
}
