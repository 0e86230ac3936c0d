import { TypedStorage } from "../../agent/state/TypedStorage.ts";
import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import { historyRecords, storageRecords } from "../../checkpoint/format/ValueWriter.ts";
import { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { linesAt, findPoint } from "../../checkpoint/moment/linesAt.ts";
import type { LineChange } from "../../checkpoint/moment/beginLine.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { encodeValue } from "../../checkpoint/values/valueCodec.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { UnknownNodeError } from "../../errors/strategyErrors.ts";
import { CheckpointNotFoundError } from "../../errors/checkpointErrors.ts";
import type { Journal } from "../../journal/Journal.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { assertCheckpointFits } from "../saving/checkpointRecord.ts";
import { finishRollback } from "../rollback/rollBack.ts";
import { giveBackEvents } from "../waiting/journalReceipt.ts";
import { stateAt } from "../../checkpoint/state/foldTo.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import { branchRun, currentCode, restartLines, rootOf } from "../executionPoint/continueFromHead.ts";
import { checkedMessages, executionPointOf } from "../executionPoint/executionPoint.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { z } from "zod";
import type { AgentStorage } from "../../agent/context/AgentContext.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import { functionSchema, kindOf } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { nodeReferenceSchema } from "../saving/CreateCheckpointOptions.ts";
import { AlreadyExistsError, NotSupportedError } from "../../errors/storageErrors.ts";
import { idProblem } from "../saving/checkNewCheckpoint.ts";

interface Edit extends Pick<EditOptions, "by" | "reason"> {
  readonly setup: PersistenceSetup;
  readonly node: string;
  readonly input: unknown;
  /** True if a node starts. False if only its edges are evaluated or its branches are merged. */
  readonly beginsNode: boolean;
  readonly messages: readonly Message[] | undefined;
  readonly storage: ReturnType<TypedStorage["takeChanges"]>;
}

/** Restarts the run and all branches and sub-agents from a checkpoint, with the changes, and pauses the agent. */
export async function editCheckpoint(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string,
  options: EditOptions,
): Promise<EditedCheckpoint> {
  await using journal = await setup.openJournal(agentId);
  const before = await journal.readAll();
  const { version } = findCheckpoint(before, checkpointId);
  const edit = await editOf(setup, before, pointIn(before, version), options);
  const log = before.index.rollback ? (await finishRollback(setup, journal)).log : before;
  const target = pointIn(log, version);
  await giveBackEvents(setup, { log });
  const { run, reopens } = branchRun(journal, log, target);
  const begun = restartLines(journal, log, linesAt(log.index, target), {
    move: "edit",
    runId: run.run,
    change: ({ point }, lane, state) =>
      point?.version === version ? changeOf(edit, { journal, log, lane, state }) : undefined,
  });
  journal.append([...(reopens ? [run] : []), ...begun.records]);
  // Both appends are made in the same turn of the event loop, so that the log gets them as one append.
  const pauseReason = `checkpoint ${target.id} edited`;
  await journal.store(
    statusRecords(journal.statusState, { status: "paused", at: journal.clock.now(), reason: pauseReason }),
  );
  return { checkpointId: `${journal.generation}-${begun.lines.get(target.record.lane)?.version}` };
}

function pointIn({ index, agentId }: AgentLog, version: number): CheckpointPoint {
  const point = index.checkpoints.get(version);
  if (!point) throw new CheckpointNotFoundError(agentId, undefined, []);
  return point;
}

async function editOf(
  setup: PersistenceSetup,
  log: AgentLog,
  target: CheckpointPoint,
  options: EditOptions,
): Promise<Edit> {
  const { by, reason, messageHistory } = options;
  const own = setupOf(setup, log, target);
  const state = stateAt(log.index, target);
  const reader = log.reader(state);
  const stored = reader.read(target.record.input);
  const next = await nextOf(own.graph, log, target, { options, stored });
  const messages = messageHistory && checkedMessages(messageHistory(Object.freeze(log.messagesOf(state))));
  const values = new TypedStorage(reader.storage());
  await options.storage?.(values);
  const storage = values.takeChanges();
  for (const [key, change] of storage) encodeValue(change?.value, `storage key ${JSON.stringify(key)}`);
  return { by, reason, setup: own, ...next, messages, storage };
}

function setupOf(
  setup: PersistenceSetup,
  { index }: AgentLog,
  { record: { lane } }: CheckpointPoint,
): PersistenceSetup {
  const { agentPath } = linePath(index, lane);
  const own = setup.at(agentPath);
  if (own) return own;
  const expected = `found a checkpoint of the sub-agent ${quoted(agentPath.join(" > "))}, which the agent no longer calls`;
  throw new InvalidInputError("edit", [{ path: "checkpointId", expected }]);
}

async function nextOf(
  graph: StrategyGraph,
  { index }: AgentLog,
  { record }: CheckpointPoint,
  { options, stored }: { readonly options: EditOptions; readonly stored: unknown },
): Promise<Pick<Edit, "node" | "input" | "beginsNode">> {
  const { nodeId } = options;
  const givesInput = "lastInput" in options && options.lastInput !== undefined;
  const input = givesInput ? options.lastInput : stored;
  const isEnd = record.node === "finish";
  if (nodeId === undefined && isEnd)
    throw new InvalidInputError("edit", [
      { path: "nodeId", expected: "expected the next node, because the line of the checkpoint has ended" },
    ]);
  // Only the exact path counts, because another node can have the name of a removed one.
  if (nodeId === undefined) graph.node(record.node);
  // The input is the output of the node, so that the run only evaluates its edges again.
  const isOutput = nodeId === undefined && record.unresolved === true;
  if (nodeId === undefined && (isOutput || !givesInput)) {
    encodeValue(input, `the input of node "${record.node}"`);
    return { node: record.node, input, beginsNode: false };
  }
  const root = rootOf(index, graph, record.lane);
  if (root === undefined) throw new UnknownNodeError(record.node, graph.nodePaths);
  const point = await executionPointOf(graph, { nodeId: nodeId ?? record.node, input }, root);
  return { ...point, beginsNode: true };
}

function changeOf(
  { by, reason, setup, node, input, beginsNode, messages, storage }: Edit,
  at: { readonly journal: Journal; readonly log: AgentLog; readonly lane: number; readonly state: AgentState },
): LineChange {
  const { journal, log, lane, state } = at;
  const { writer, numbers } = journal;
  const { uploads } = writer;
  const history = new MessageHistory(log.reader(state).history(), numbers);
  if (messages) history.rewrite(() => messages);
  const numberOf = (message: unknown): number | undefined =>
    history.numberOf(message) ?? history.entries.findLast((entry) => isSameValue(entry.message, message))?.number;
  const records = [
    ...currentCode(setup, state, lane, journal),
    ...historyRecords(history.takeChanges(), lane, writer),
    ...storageRecords(storage, lane, writer),
  ];
  const written = writer.input(input, `the input of node ${JSON.stringify(node)}`, lane, numberOf);
  assertCheckpointFits(journal, { node, input }, written, records, uploads);
  const begun = beginsNode ? { unresolved: undefined, joined: undefined, ended: undefined, inputType: undefined } : {};
  return { records, checkpoint: { ...begun, node, input: written, visit: undefined, by, reason } };
}

/** Changes to a checkpoint. Omitted fields keep their values. */
export interface EditOptions {
  /** The editing person or system: 1 to 1,000 characters. Stored with the checkpoint, and not verified. */
  readonly by: string;
  /** The reason of the edit: 1 to 1,000 characters. Stored with the checkpoint. */
  readonly reason: string;
  /** The node that runs next. It must belong to the run, branch or sub-agent of the checkpoint. */
  readonly nodeId?: string | Node | undefined;
  /** The input of the next node, validated by its schema. */
  readonly lastInput?: unknown;
  /** Receives the frozen messages of the checkpoint and returns the new messages. */
  readonly messageHistory?: ((messages: readonly Message[]) => readonly Message[]) | undefined;
  /** Receives the storage of the checkpoint and changes it. */
  readonly storage?: ((storage: AgentStorage) => PromiseLike<void> | void) | undefined;
}

export interface EditedCheckpoint {
  readonly checkpointId: string;
}

const statement = z.custom<string>((value) => typeof value === "string" && value.length > 0 && value.length <= 1_000, {
  error: ({ input }) =>
    `expected 1 to 1,000 characters, ${typeof input === "string" ? `found ${input.length}` : `received ${kindOf(input)}`}`,
});

/** Any value is accepted for `nodeId`, because the graph checks it later. */
export const editSchema: z.ZodType = strictOptions(() => ({
  by: statement,
  reason: statement,
  nodeId: nodeReferenceSchema.optional(),
  lastInput: z.unknown().optional(),
  messageHistory: functionSchema().optional(),
  storage: functionSchema().optional(),
}));

/** Names a checkpoint, unless it already has this name. Durable when the promise resolves. */
export async function nameCheckpoint(
  setup: PersistenceSetup,
  agentId: string,
  { checkpointId, name }: { readonly checkpointId: string; readonly name: string },
): Promise<void> {
  const problem = idProblem(name, "name");
  if (problem) throw new InvalidInputError("name of a checkpoint", [problem]);
  await using journal = await openNamed(setup, agentId, "nameCheckpoint()");
  const { version } = await findNear(setup, journal, checkpointId);
  if (journal.named.has(name))
    throw new AlreadyExistsError(
      "checkpoint_exists",
      agentId,
      name,
      "a checkpoint was made with this id. Choose another name",
    );
  if (journal.names.versionOf(name) !== version) await journal.store([{ kind: "name", name, version }]);
}

export async function removeCheckpointName(setup: PersistenceSetup, agentId: string, name: string): Promise<void> {
  await using journal = await openNamed(setup, agentId, "removeCheckpointName()");
  const { names } = journal;
  if (names.versionOf(name) === undefined) {
    const given = [...names.entries()].map(([each]) => each);
    throw new CheckpointNotFoundError(agentId, name, given, "name");
  }
  await journal.store([{ kind: "name", name }]);
}

async function openNamed(setup: PersistenceSetup, agentId: string, operation: string): Promise<Journal> {
  if (setup.log.capabilities.keeps === "checkpoints") throw new NotSupportedError(operation, "a log of records");
  return setup.openJournal(agentId);
}

/** Searches for a checkpoint in the records that were read, then from the newest snapshot on, then in the whole log. */
async function findNear(
  { log }: PersistenceSetup,
  { agentId, head }: Journal,
  checkpointId: string,
): Promise<CheckpointPoint> {
  const known = head && findPoint(head.log.index, checkpointId);
  if (known) return known;
  const isThere = ({ index }: AgentLog) => findPoint(index, checkpointId) !== undefined;
  return findCheckpoint(await AgentLog.readRecent(log, agentId, isThere, () => false), checkpointId);
}
