import type { GraphStructure, NodeStructure } from "../../agent/strategy/GraphStructure.ts";
import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { StructureRecord } from "../../checkpoint/records/lineRecords.ts";
import { StrategyChangedError } from "../../errors/agent/StrategyChangedError.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";

/** The structure of a strategy as a lane records it, whole. */
export function structureRecord(
  graph: StrategyGraph,
  lane: number,
  { writer, sha256 }: Pick<Journal, "writer" | "sha256">,
): StructureRecord {
  return {
    kind: "structure",
    lane,
    fingerprint: fingerprintOf(graph, sha256),
    structure: writer.value(graph.structure, "the structure of the strategy"),
  };
}

/** The same without what the log has already. */
export function structureReference(record: StructureRecord, journal: Journal): StructureRecord {
  if (!journal.structures.has(record.fingerprint)) {
    journal.structures.add(record.fingerprint);
    return record;
  }
  return { kind: "structure", lane: record.lane, fingerprint: record.fingerprint };
}

/** @throws StrategyChangedError when a stored state was made by another strategy. */
export async function assertStrategyFits(
  graph: StrategyGraph,
  { agentId, agentPath }: Pick<StrategyChangedError, "agentId" | "agentPath">,
  state: AgentState,
  reader: ValueReader,
  sha256: Sha256,
  readAll: () => Promise<AgentLog>,
): Promise<void> {
  const stored = state.structure;
  if (!stored || stored.fingerprint === fingerprintOf(graph, sha256)) return;
  const structure =
    stored.structure === undefined
      ? await findStructure(stored.fingerprint, await readAll())
      : reader.read(stored.structure);
  const differences = structure
    ? strategyDifferences(structure as GraphStructure, graph.structure)
    : [`its nodes and edges, which this storage does not keep (now: ${graph.nodePaths.join(", ")})`];
  throw new StrategyChangedError(agentId, differences, agentPath);
}

async function findStructure(fingerprint: string, log: AgentLog): Promise<unknown> {
  for (const records of log.index.laneRecords.values()) {
    for (const { record } of records) {
      if (record.kind !== "structure" || record.fingerprint !== fingerprint || record.structure === undefined) continue;
      return log.readValue(record.structure);
    }
  }
  return undefined;
}

function fingerprintOf(graph: StrategyGraph, sha256: Sha256): string {
  return sha256.base64url(JSON.stringify(graph.structure));
}

/** What changed from one structure of a strategy to another, one line each; empty when they are equal. */
export function strategyDifferences(stored: GraphStructure, current: GraphStructure): readonly string[] {
  const before = describe(stored, "");
  const after = describe(current, "");
  return [
    ...[...before].filter((line) => !after.has(line)).map((line) => `${line} is gone`),
    ...[...after].filter((line) => !before.has(line)).map((line) => `${line} is new`),
  ];
}

function describe(structure: GraphStructure, prefix: string): Set<string> {
  const lines = new Set<string>();
  for (const node of structure.nodes) {
    lines.add(`node "${prefix}${node.name}"`);
    for (const line of describeContent(node, prefix)) lines.add(line);
  }
  for (const { from, to, ordinal, conditional, mapped } of structure.edges) {
    const traits = [conditional ? "with a condition" : "", mapped ? "with a mapping" : ""]
      .filter((trait) => trait !== "")
      .join(" and ");
    lines.add(`edge ${ordinal + 1} from "${prefix}${from}" to "${prefix}${to}"${traits === "" ? "" : ` ${traits}`}`);
  }
  return lines;
}

function describeContent({ name, graph, parallel }: NodeStructure, prefix: string): Iterable<string> {
  if (graph) return describe(graph, `${prefix}${name}/`);
  if (!parallel) return [];
  const path = `"${prefix}${name}"`;
  const { branches, history, onFailure } = parallel;
  const lines =
    branches.kind === "each"
      ? [`a branch of ${path} for each item: node "${prefix}${branches.node}"${branches.keyed ? " with a key" : ""}`]
      : branches.nodes.map(({ branch, node }) => `branch "${branch}" of ${path}: node "${prefix}${node}"`);
  return [...lines, `history "${history}" of ${path}`, `onFailure "${onFailure}" of ${path}`];
}
