import { toolsByNames } from "../../agent/tool/Tool.ts";
import { type LinePath, linePath } from "../../checkpoint/data/linePath.ts";
import { type StructureRecord, structureKey } from "../../checkpoint/records/lineRecords.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import { UnknownToolError } from "../../errors/agentErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { StoredState } from "../starting/startRecorder.ts";
import { type CodeVerdict, isSameCode, judgeCode, type StoredStructure } from "../versions/judgeCode.ts";
import type { Code } from "../versions/CodeStructure.ts";
import type { LinePoint } from "../versions/Reached.ts";

export interface FittedLine extends LinePath {
  readonly state: AgentState;
  readonly setup: PersistenceSetup;
  readonly verdict: CodeVerdict;
  readonly code: Code;
  readonly structure: StoredStructure | undefined;
}

interface OpenLines extends StoredState {
  readonly nested: ReadonlyMap<number, AgentState>;
  readonly sha256: Sha256;
  readonly readAll: () => Promise<AgentLog>;
}

/** Decides whether the current code can continue the run and each branch and sub-agent. @throws UnknownToolError */
export async function lineVerdicts(setup: PersistenceSetup, lines: OpenLines): Promise<readonly FittedLine[]> {
  const { log, state, nested } = lines;
  const fitted: FittedLine[] = [];
  for (const [lane, line] of [[state.lane, state] as const, ...nested]) {
    const path = linePath(log.index, lane);
    const own = setupAt(setup, path.agentPath);
    fitted.push({ ...path, state: line, setup: own, ...(await judge(own, line, lines)) });
  }
  return fitted;
}

async function judge(
  setup: PersistenceSetup,
  state: AgentState,
  lines: OpenLines,
): Promise<Pick<FittedLine, "verdict" | "structure" | "code">> {
  const stored = state.structure;
  const keepsVersions = setup.log.capabilities.keeps !== "checkpoints";
  const code = setup.code(lines.sha256);
  if (!stored || isSameCode(stored, code, keepsVersions)) {
    assertKnown(setup, state);
    return { verdict: { kind: "same" }, structure: undefined, code };
  }
  const structure = await structureIn(stored, lines, state);
  const verdict = judgeCode(stored, structure, code, setup.migrations, pointOf(lines.log, state));
  if (verdict.kind === "compatible") assertKnown(setup, state);
  return { verdict, structure, code };
}

/** Checks that the recorded nodes and tools still exist, for logs without a stored structure. */
function assertKnown({ graph, tools }: PersistenceSetup, { checkpoint, settings }: AgentState): void {
  const node = checkpoint?.record.node ?? "start";
  if (node !== "finish" && node !== "start") graph.node(node);
  if (settings) toolsByNames(tools, settings.tools);
}

/** Returns the position of a run, branch or sub-agent, and the started branches of its parallel node. */
function pointOf({ index }: AgentLog, state: AgentState): LinePoint {
  const { record } = state.checkpoint ?? {};
  if (!record) return { node: "start" };
  // If a lane continues the node of an earlier lane, the branches of the node belong to the earlier lane.
  const begun = index.lines
    .childrenOf(state.lane)
    .flatMap(({ place, closed }) => (closed === undefined && "branch" in place ? [place.branch] : []));
  return { node: record.node, begun: record.joined === undefined ? new Set(begun) : "all" };
}

async function structureIn(
  stored: StructureRecord,
  { log, readAll }: OpenLines,
  state: AgentState,
): Promise<StoredStructure | undefined> {
  const whole =
    stored.structure === undefined ? await findStructure(stored, readAll) : log.reader(state).read(stored.structure);
  return whole as StoredStructure | undefined;
}

async function findStructure(stored: StructureRecord, readAll: () => Promise<AgentLog>): Promise<unknown> {
  const log = await readAll();
  for (const records of log.index.laneRecords.values()) {
    for (const { record } of records) {
      if (record.kind !== "structure" || record.structure === undefined) continue;
      if (structureKey(record) === structureKey(stored)) return log.readValue(record.structure);
    }
  }
  return undefined;
}

function setupAt(setup: PersistenceSetup, agentPath: readonly string[]): PersistenceSetup {
  let found = setup;
  for (const name of agentPath) {
    const next = found.at([name]);
    if (!next) throw new UnknownToolError(name, [...found.tools.keys()]);
    found = next;
  }
  return found;
}
