import { mergeSorted } from "../../../internal/mergeSorted.ts";
import type { TableList, TableListed, TableSelection } from "../../table/LogTable.ts";
import { type DynamoDBConnection, type FoundItem, itemBytes } from "../items/DynamoDBConnection.ts";
import { compareBytes, headKey, summaryKey } from "../items/itemKeys.ts";
import type { ListEntries, ListEntry } from "./ListEntries.ts";
import { isSameStep, type Picture, pictureParts, picturesOf } from "./Picture.ts";
import type { Summaries } from "./Summaries.ts";
import { headOf, isReadable } from "../slots/AgentHeads.ts";

const agentsAtOnce = 50;
const maxAttempts = 5;

interface ListSources {
  readonly connection: DynamoDBConnection;
  readonly entries: ListEntries;
  readonly summaries: Summaries;
}

export async function listTableAgents(sources: ListSources, selection: TableSelection): Promise<TableList> {
  const lists = selection.statuses ?? [undefined];
  const streams = lists.map((status) => sources.entries.read(status, selection));
  const merged = mergeSorted(streams, (one, other) => compareBytes(one.place, other.place));
  const size = Math.min(selection.limit, agentsAtOnce);
  const listed: TableListed[] = [];
  let waiting: ListEntry[] = [];
  for await (const entry of merged) {
    if (waiting.push(entry) < size) continue;
    listed.push(...(await look(sources, waiting)));
    waiting = [];
    if (listed.length >= selection.limit) break;
  }
  if (waiting.length > 0) listed.push(...(await look(sources, waiting)));
  return { agents: listed.slice(0, selection.limit), more: listed.length >= selection.limit };
}

async function look(sources: ListSources, entries: readonly ListEntry[]): Promise<readonly TableListed[]> {
  const ids = [...new Set(entries.map(({ agentId }) => agentId))];
  const items = await sources.connection.getAll(ids.flatMap((id) => [headKey(id), summaryKey(id)]));
  const byKey = new Map(items.map((item) => [nameOf(item), item]));
  const listed: TableListed[] = [];
  for (const entry of entries) {
    const [head, summary] = [headKey(entry.agentId), summaryKey(entry.agentId)].map((key) => byKey.get(nameOf(key)));
    const found = head && summary && (await show(sources, entry, head, summary));
    if (found) listed.push(found);
  }
  return listed;
}

async function show(
  { connection, summaries }: ListSources,
  entry: ListEntry,
  head: FoundItem,
  summary: FoundItem,
): Promise<TableListed | undefined> {
  const { agentId, order } = entry;
  const damaged = { agentId, order, text: "", head: { generation: 0, beat: "" } };
  let known = picturesOf(summary);
  if (known === undefined || !isReadable(head)) return damaged;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { current, pictures } = await summaries.resolve(agentId, attempt === 0 ? known : undefined);
    if (current === undefined || pictures === undefined || !isMeant(entry, current)) return undefined;
    const bytes = await itemBytes(connection, pictureParts(agentId, current), current.content);
    if (bytes) return { agentId, order, text: new TextDecoder().decode(bytes), head: headOf(head) };
    if (attempt > 0 && isSameStep(pictures, known)) return damaged;
    // The parts were possibly removed, because a newer summary was stored.
    known = pictures;
  }
  throw new Error(`the summary of an agent kept changing while it was read`);
}

function isMeant({ status, order }: ListEntry, picture: Picture): boolean {
  return picture.order === order && (status === undefined || picture.status === status);
}

function nameOf({ pk, sk }: Pick<FoundItem, "pk" | "sk">): string {
  return `${sk[0]} ${pk}`;
}
