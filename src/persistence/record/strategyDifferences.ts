import type { GraphStructure } from "../../agent/strategy/GraphStructure.ts";

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
  for (const { name, graph } of structure.nodes) {
    lines.add(`node "${prefix}${name}"`);
    if (graph) for (const line of describe(graph, `${prefix}${name}/`)) lines.add(line);
  }
  for (const { from, to, ordinal, conditional, mapped } of structure.edges) {
    const traits = [conditional ? "with a condition" : "", mapped ? "with a mapping" : ""]
      .filter((trait) => trait !== "")
      .join(" and ");
    lines.add(`edge ${ordinal + 1} from "${prefix}${from}" to "${prefix}${to}"${traits === "" ? "" : ` ${traits}`}`);
  }
  return lines;
}
