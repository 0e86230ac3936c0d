import { toolsByNames } from "../../agent/tool/Tool.ts";
import { type LinePath, linePath } from "../../checkpoint/data/linePath.ts";
import { type StructureRecord, structureKey } from "../../checkpoint/records/lineRecords.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import { UnknownToolError } from "../../errors/agentErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { StoredState } from "../nestedLines/startRecorder.ts";
import { type StoredStructure, codeDifferences, keepsReached } from "../versions/codeDifferences.ts";
import type { Code } from "../versions/CodeStructure.ts";
import type { LinePoint } from "../versions/reachedFrom.ts";
import type { Migration, Migrations } from "../versions/Migrations.ts";

export interface FittedLine extends LinePath {
  readonly state: AgentState;
  readonly setup: PersistenceSetup;
  readonly verdict: CodeVerdict;
  readonly code: Code;
  readonly structure: StoredStructure | undefined;
}

export interface OpenLines extends StoredState {
  readonly nested: ReadonlyMap<number, AgentState>;
  readonly sha256: Sha256;
  readonly readAll: () => Promise<AgentLog>;
}

/** Decides whether the current code can continue each line. @throws UnknownToolError for a missing agent tool. */
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

/** Checks that nodes and tools in the records still exist, even if the structure does not contain them. */
function assertKnown({ graph, tools }: PersistenceSetup, { checkpoint, settings }: AgentState): void {
  const node = checkpoint?.record.node ?? "start";
  if (node !== "finish" && node !== "start") graph.resolve(node);
  if (settings) toolsByNames(tools, settings.tools);
}

/** Returns the current position of a line. Started branches of a parallel node are separate lines. */
function pointOf({ index }: AgentLog, state: AgentState): LinePoint {
  const { record } = state.checkpoint ?? {};
  if (!record) return { node: "start" };
  // A lane that starts from an earlier lane continues its visit. The lines that started in this visit are nested in the
  // earlier lane.
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

type CodeVerdict =
  | { readonly kind: "same" }
  /** `compatible`: the line can run only unchanged code. `incompatible`: no migration applies to a change. */
  | { readonly kind: "compatible" | "incompatible"; readonly differences: readonly string[] }
  | { readonly kind: "migrates"; readonly chain: readonly Migration[] };

/** Returns whether the code is unchanged as far as the record shows. A three-method storage keeps no versions. */
function isSameCode(stored: StructureRecord, now: Code, keepsVersions: boolean): boolean {
  if (stored.code !== undefined) return structureKey(stored) === now.code;
  return stored.fingerprint === now.fingerprint && (!keepsVersions || now.structure.version === 0);
}

/** Decides whether a line can continue with changed code. @param structure `undefined` if it is not stored. */
function judgeCode(
  { version = 0 }: StructureRecord,
  structure: StoredStructure | undefined,
  now: Code,
  migrations: Migrations,
  point: LinePoint,
): CodeVerdict {
  const current = now.structure;
  const chain = migrations.chainFrom(version);
  if (chain && chain.length > 0) return { kind: "migrates", chain };
  if (!structure) {
    const nodes = current.nodes.map(({ name }) => name).join(", ");
    const unknown = `its nodes and edges, which this storage does not keep (now: ${nodes})`;
    return { kind: "incompatible", differences: [unknown] };
  }
  const differences = [
    ...codeDifferences(structure, current),
    ...(version === current.version ? [] : [`version ${version} is now ${current.version}`]),
  ];
  const fits = version <= current.version && keepsReached(structure, current, point);
  return { kind: fits ? "compatible" : "incompatible", differences };
}
