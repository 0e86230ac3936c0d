import { BranchesChangedError } from "../../errors/runErrors.ts";
import { ToolCallInDoubtError } from "../../errors/toolCallErrors.ts";
import { type AgentState, nextVisitOf } from "../../checkpoint/state/AgentState.ts";
import { mergedAt } from "../../checkpoint/state/BranchChanges.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { leavesEffect } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { toolCallInDoubt } from "../settle/callsInDoubt.ts";
import type { FittedLine } from "./lineVerdicts.ts";
import { advance } from "../../agent/run/advance.ts";
import { assertMessage } from "../../agent/model/checkedResponse.ts";
import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import { toolsByNames } from "../../agent/tool/Tool.ts";
import { renamedTools, renamed, renamedPath } from "../../checkpoint/values/renamed.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { Renames } from "../../checkpoint/records/lineRecords.ts";
import { MigrationFailedError, UnknownNodeError } from "../../errors/strategyErrors.ts";
import { abortable } from "../../internal/abortable.ts";
import { copyMutableParts, frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema, checkSchemaAsync, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString, plainObject } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { StoredStructure } from "../versions/judgeCode.ts";
import type { MigratedLine, Migration } from "../versions/Migrations.ts";
import { z } from "zod";

/** The migration of a run, branch or sub-agent. The effects of the calls in `standing` remain. */
export interface LineMigration extends LinePlan {
  readonly standing: readonly string[];
  /** For a finished branch, the numbers of the messages of the run. */
  readonly before?: ReadonlySet<number>;
}

/**
 * Runs all necessary migrations: of the run first, and of branches and sub-agents after the part that contains them. If
 * a node restarts, its branches and sub-agents end. Finished branches only get the new names of tools.
 *
 * @throws MigrationFailedError, the reason of the signal, InvalidInputError, UnknownNodeError, UnknownToolError,
 *   BranchesChangedError. ToolCallInDoubtError if the schemas of an interrupted node changed and one of its calls is in
 *   doubt.
 */
export async function planMigration(
  lines: readonly FittedLine[],
  log: AgentLog,
  signal: AbortSignal,
): Promise<readonly LineMigration[]> {
  const plans = new Map<number, LineMigration>();
  const ended = new Set<number>();
  for (const line of lines) {
    const { lane } = line.state;
    const parent = log.index.lines.nestedLine(lane)?.place.parent;
    if (parent !== undefined && (ended.has(parent) || plans.get(parent)?.keepsVisit === false)) {
      ended.add(lane);
      continue;
    }
    if (line.verdict.kind !== "migrates") continue;
    const root = rootOf(line, log, plans);
    const plan = await migratedLine(line, line.verdict.chain, root, { log, signal });
    plans.set(lane, { ...plan, standing: plan.keepsVisit ? [] : leftCalls(line, log) });
    const before = new Set(plan.history.map(({ number }) => number));
    const names = line.verdict.chain.map(({ migrate: _migrate, ...renames }) => renames);
    for (const state of plan.keepsVisit ? finishedBranches(log.index, lane) : [])
      plans.set(state.lane, {
        ...(await migratedLine({ ...line, state }, names, root, { log, signal })),
        standing: [],
        before,
      });
  }
  return [...plans.values()];
}

/** Returns the states of the finished branches whose results have yet to be merged. */
function finishedBranches(index: LogProjection, lane: number): readonly AgentState[] {
  const point = index.latestOf(lane);
  const parallelStart = index.lines.openForkOn(lane) ?? (point && mergedAt(index, point));
  const branches = parallelStart === undefined ? [] : index.lines.branchesOf(parallelStart);
  return branches.flatMap(({ lane: at }) => (index.latestOf(at)?.record.ended ? (foldLine(index, at) ?? []) : []));
}

function rootOf(
  { state, setup }: FittedLine,
  { index, agentId }: AgentLog,
  plans: ReadonlyMap<number, LinePlan>,
): string {
  const place = index.lines.nestedLine(state.lane)?.place;
  if (!place || !("fork" in place)) return "";
  const { graph } = setup;
  const parent = plans.get(place.parent)?.next.nodeId ?? index.latestOf(place.parent)?.record.node ?? "";
  const branches = graph.branchesOf(parent);
  if (branches.kind === "each") return branches.node;
  const root = branches.nodes.get(place.branch);
  if (root === undefined) throw new BranchesChangedError(agentId, parent, [place.branch], [...branches.nodes.keys()]);
  return root;
}

function leftCalls({ state }: FittedLine, { index, blobs, agentId }: AgentLog): readonly string[] {
  const [base] = nextVisitOf(state);
  const isLeft = ({ lane, visit }: LoggedCall) =>
    lane === state.lane
      ? visit[0] === base
      : index.lines.isOpen(lane) && [...index.lines.around(lane)].some(({ place }) => place.parent === state.lane);
  const left = loggedCalls(index, blobs).filter((call) => isLeft(call) && index.counts(call));
  const inDoubt = left.find(({ effect, outcome }) => effect !== "none" && (!outcome || outcome.retry));
  if (inDoubt) throw new ToolCallInDoubtError(toolCallInDoubt(agentId, inDoubt));
  return left.filter(leavesEffect).map(({ call }) => call);
}

interface LinePlan {
  readonly line: FittedLine;
  readonly history: readonly { readonly number: number; readonly message: Message }[];
  readonly storage: Readonly<Record<string, unknown>>;
  readonly next: MigratedLine;
  readonly renames: readonly Renames[];
  /** True if the interrupted node continues with its recorded responses, calls and requests. */
  readonly keepsVisit: boolean;
}

const lineSchema = strictOptions(() => ({
  nodeId: nonEmptyString,
  lastInput: z.unknown().optional(),
  messageHistory: z.array(z.unknown()),
  storage: plainObject,
  tools: z.array(z.string()),
  branch: z.string().optional(),
}));

/**
 * Migrates a copy of the state and checks the result. `root` is the path of the node that a branch runs, or empty.
 *
 * @throws MigrationFailedError, the reason of the signal, InvalidInputError, UnknownNodeError, UnknownToolError
 */
async function migratedLine(
  line: FittedLine,
  chain: readonly Migration[],
  root: string,
  { log, signal }: { readonly log: AgentLog; readonly signal: AbortSignal },
): Promise<LinePlan> {
  const { graph } = line.setup;
  const { stored, history, isPoint } = storedLine(line, log);
  const { nodeId } = stored;
  const renames = chain.map(({ nodes = {}, tools = {} }) => ({ nodes, tools }));
  let next = stored;
  for (const migration of chain) next = await through(migration, next, signal);
  const nodes = renames.map((each) => each.nodes);
  const sameNode = renamedPath(nodeId, nodes);
  const mayEnd = nodeId === "finish" || next.nodeId === "start";
  if (next.nodeId === "start") next = begun(graph, next);
  await assertRuns(line, next, { root, checksInput: isPoint, mayEnd });
  const isSame = nodeId === "start" || (next.nodeId === sameNode && hasSameSchemas(line, nodeId, sameNode));
  return { line, history, storage: stored.storage, next, renames, keepsVisit: isSame };
}

function storedLine({ state, branch }: FittedLine, log: AgentLog) {
  const reader = log.reader(state);
  const { node: nodeId = "start", input = state.run?.input, unresolved, joined } = state.checkpoint?.record ?? {};
  const history = reader.history();
  const stored: MigratedLine = {
    nodeId,
    lastInput: reader.read(input),
    messageHistory: history.map(({ message }) => message),
    storage: Object.freeze(Object.fromEntries(reader.storage())),
    tools: state.settings?.tools ?? [],
    ...(branch !== undefined && { branch }),
  };
  return { stored, history, isPoint: unresolved === undefined && joined === undefined };
}

async function through(migration: Migration, line: MigratedLine, signal: AbortSignal): Promise<MigratedLine> {
  const { nodes = {}, tools = {}, migrate } = migration;
  const messages = new Map<unknown, Message>(
    line.messageHistory.map((message) => [message, renamedTools(message, [tools])]),
  );
  const renamedLine: MigratedLine = {
    ...line,
    nodeId: renamedPath(line.nodeId, [nodes]),
    lastInput: messages.get(line.lastInput) ?? copyMutableParts(renamedTools(line.lastInput, [tools])),
    messageHistory: line.messageHistory.map((message) => messages.get(message) ?? message),
    storage: { ...copyMutableParts(line.storage) },
    tools: line.tools.map((name) => renamed(name, [tools])),
  };
  if (!migrate) return renamedLine;
  const returned = await abortable(signal, () => called(migration, renamedLine));
  checkSchema(lineSchema, returned, `line that the migration from ${migration.from} to ${migration.to} returned`);
  return frozenCopyOf(returned as MigratedLine, line.branch);
}

async function called({ from, to, migrate }: Migration, line: MigratedLine): Promise<unknown> {
  try {
    return await migrate?.(line);
  } catch (cause) {
    throw new MigrationFailedError(from, to, reasonOf(cause), { cause });
  }
}

/** Returns a frozen copy. Unchanged messages and inputs stay the same objects. */
function frozenCopyOf(line: MigratedLine, branch: string | undefined): MigratedLine {
  const messages = new Map<unknown, Message>(line.messageHistory.map((message) => [message, frozenCopy(message)]));
  return withoutUndefined({
    nodeId: line.nodeId,
    lastInput: messages.get(line.lastInput) ?? frozenCopy(line.lastInput),
    messageHistory: line.messageHistory.map((message) => messages.get(message) ?? message),
    storage: frozenCopy(line.storage),
    tools: [...line.tools],
    branch,
  }) as MigratedLine;
}

/** If no node has started, returns the first node of the current strategy. */
function begun(graph: StrategyGraph, line: MigratedLine): MigratedLine {
  const { nodeId, input } = advance(
    graph,
    "start",
    checkSchema(graph.root.input, line.lastInput, `input of strategy "${graph.name}"`),
  );
  return { ...line, nodeId, lastInput: input };
}

async function assertRuns(
  { setup: { graph, tools } }: FittedLine,
  { nodeId, lastInput, messageHistory, tools: offered }: MigratedLine,
  { root, checksInput, mayEnd }: { readonly root: string; readonly checksInput: boolean; readonly mayEnd: boolean },
): Promise<void> {
  if (nodeId === "finish" && mayEnd) return;
  graph.node(nodeId);
  if (graph.lineOf(nodeId) !== root)
    throw new UnknownNodeError(
      nodeId,
      graph.nodePaths.filter((path) => graph.lineOf(path) === root),
    );
  if (checksInput) await checkSchemaAsync(graph.inputSchemaOf(nodeId), lastInput, `input of node "${nodeId}"`);
  for (const message of messageHistory) assertMessage(message, "message of a migrated line");
  toolsByNames(tools, offered);
}

function hasSameSchemas({ code, structure }: FittedLine, before: string, now: string): boolean {
  const stored = structure && schemasAt(structure, before);
  if (stored?.input === undefined) return true;
  const { input, output } = schemasAt(code.structure, now) ?? {};
  return stored.input === input && stored.output === output;
}

function schemasAt(
  structure: StoredStructure,
  path: string,
): { readonly input?: string; readonly output?: string } | undefined {
  const names = path.split("/");
  const name = names.pop();
  let graph: StoredStructure | undefined = structure;
  for (const each of names) graph = graph?.nodes.find((node) => node.name === each)?.graph;
  return graph?.nodes.find((node) => node.name === name);
}
