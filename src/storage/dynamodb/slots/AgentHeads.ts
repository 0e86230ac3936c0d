import { UnsupportedFormatError } from "../../../errors/storedDataErrors.ts";
import type { TableClaim, TableHead, TableRenewal, TableSighting } from "../../table/LogTable.ts";
import type { Attributes, DynamoDBConnection, FoundItem } from "../items/DynamoDBConnection.ts";
import { headKey } from "../items/itemKeys.ts";

const format = 1;

const isOwner = "#gen = :g AND attribute_exists(#owner)";

export class AgentHeads {
  readonly #connection: DynamoDBConnection;

  constructor(connection: DynamoDBConnection) {
    this.#connection = connection;
  }

  async get(agentId: string): Promise<TableHead | undefined> {
    const item = await this.#connection.get(headKey(agentId));
    return item && headOf(item);
  }

  /** Takes ownership if the owner is unchanged. A repeated request fails, because the generation has changed. */
  async take(agentId: string, { owner, beat }: TableClaim, replaced?: TableSighting): Promise<number | undefined> {
    const seen = await this.get(agentId);
    if (seen?.owner !== undefined && !(seen.generation === replaced?.generation && seen.beat === replaced.beat))
      return undefined;
    const generation = (seen?.generation ?? 0) + 1;
    const change = "SET #gen = :next, #owner = :owner, #beat = :beat, #format = :format REMOVE #stop, #expires";
    const taken = await this.#connection.update(headKey(agentId), change, {
      if: conditionOf(seen),
      values: { ":next": generation, ":owner": owner, ":beat": beat, ":format": format, ...seenValues(seen) },
    });
    if (taken) return generation;
    // The client may have retried a request that succeeded.
    const now = await this.get(agentId);
    return now?.owner === owner ? now.generation : undefined;
  }

  /** Raises the generation of an owner. Returns `false` if the owner lost the agent. */
  async raise(agentId: string, owner: string, from: number, to: number): Promise<boolean> {
    const condition = { if: "#gen = :g AND #owner = :owner", values: { ":g": from, ":owner": owner, ":next": to } };
    if (await this.#connection.update(headKey(agentId), "SET #gen = :next", condition)) return true;
    const now = await this.get(agentId);
    return now?.generation === to && now.owner === owner;
  }

  async renew(agentId: string, generation: number, beat: string): Promise<TableRenewal | undefined> {
    const condition = { if: isOwner, values: { ":g": generation, ":beat": beat } };
    const item = await this.#connection.update(headKey(agentId), "SET #beat = :beat", condition);
    return item && { stop: textOf(item, "stop") };
  }

  /** @param expires - when the remaining items of a dropped agent expire, in seconds since 1970. */
  async release(agentId: string, generation: number, expires?: number): Promise<void> {
    const isDropped = expires !== undefined;
    const change = `${isDropped ? "SET #expires = :expires " : ""}REMOVE #owner, #stop`;
    const values = { ":g": generation, ...(isDropped && { ":expires": expires }) };
    await this.#connection.update(headKey(agentId), change, { if: isOwner, values });
  }

  async requestStop(agentId: string, generation: number, reason: string): Promise<void> {
    const condition = { if: isOwner, values: { ":g": generation, ":stop": reason } };
    await this.#connection.update(headKey(agentId), "SET #stop = :stop", condition);
  }

  async isOwned(agentId: string, generation: number): Promise<boolean> {
    const head = await this.get(agentId);
    return head?.generation === generation && head.owner !== undefined;
  }
}

/** Whether this version of the library can read the item. */
export function isReadable(item: Attributes): boolean {
  return !(Number(item["format"] ?? format) > format);
}

export function headOf(item: FoundItem | Attributes): TableHead {
  if (!isReadable(item)) throw new UnsupportedFormatError("The DynamoDB table", Number(item["format"]), format);
  const owner = textOf(item, "owner");
  const stop = textOf(item, "stop");
  return {
    generation: Number(item["gen"]),
    beat: textOf(item, "beat") ?? "",
    ...(owner !== undefined && { owner }),
    ...(stop !== undefined && { stop }),
  };
}

function conditionOf(seen: TableHead | undefined): string {
  if (seen === undefined) return "attribute_not_exists(#pk)";
  return seen.owner === undefined ? "#gen = :seen AND attribute_not_exists(#owner)" : "#gen = :seen AND #beat = :was";
}

function seenValues(seen: TableHead | undefined): Attributes {
  if (seen === undefined) return {};
  return { ":seen": seen.generation, ...(seen.owner !== undefined && { ":was": seen.beat }) };
}

function textOf(item: Attributes, name: string): string | undefined {
  const value = item[name];
  return typeof value === "string" ? value : undefined;
}
