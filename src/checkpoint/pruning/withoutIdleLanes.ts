import type { AgentRecord, RestatedEntry } from "../records/AgentRecord.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/**
 * Removes the lanes of nested lines that have no remaining content, including lines inside them. The newest lane of the
 * log stays, so that its number is not reused.
 */
export function withoutIdleLanes(
  restated: readonly RestatedEntry[],
  { lines, nextLane }: Pick<LogProjection, "lines" | "nextLane">,
): readonly RestatedEntry[] {
  const used = new Set<number>();
  const use = (lane: number): void => {
    let line = lines.nestedLine(lane);
    for (; line && !used.has(line.first); line = lines.nestedLine(line.place.parent)) used.add(line.first);
  };
  use(nextLane - 1);
  for (const { records } of restated)
    for (const record of records) if (record.kind !== "lane" && "lane" in record) use(record.lane);
  const isUsed = (record: AgentRecord): boolean => {
    const line = record.kind === "lane" ? lines.nestedLine(record.lane) : undefined;
    return line === undefined || used.has(line.first);
  };
  return restated.flatMap((entry) => {
    const records = entry.records.filter(isUsed);
    return records.length > 0 ? [{ ...entry, records }] : [];
  });
}
