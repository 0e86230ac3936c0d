import type {
  LogTable,
  TableAppend,
  TableBlobs,
  TableClaim,
  TableGap,
  TableHead,
  TableList,
  TablePage,
  TablePruned,
  TablePublication,
  TableRange,
  TableRenewal,
  TableSelection,
  TableSighting,
} from "agent-persistence/storage";
import type { Redis } from "ioredis";
import { scripts } from "./scripts.ts";

const rowsOfPage = 100;

type Cell = string | null;
type HeadCells = readonly [generation: Cell, beat: Cell, owner: Cell, stop: Cell];

/** Keeps the logs of agents in one Redis server. Lines and blobs are in base64, so that every driver gives back their bytes. */
export class RedisTable implements LogTable {
  readonly name = "Redis";
  readonly capabilities = { durable: true, processes: "many", machines: "many", listing: "exact" } as const;
  readonly blobs: TableBlobs;
  readonly #redis: Redis;
  readonly #prefix: string;

  /** @param prefix what all keys begin with. */
  constructor(redis: Redis, prefix = "agent-persistence:") {
    this.#redis = redis;
    this.#prefix = prefix;
    const blobsOf = (agentId: string) => `${prefix}blobs:${agentId}`;
    this.blobs = {
      put: async (agentId, reference, bytes) => {
        await redis.hset(blobsOf(agentId), reference, encode(bytes));
      },
      get: async (agentId, reference) => {
        const text = await redis.hget(blobsOf(agentId), reference);
        return text === null ? undefined : Buffer.from(text, "base64");
      },
      delete: async (agentId, reference) => {
        await redis.hdel(blobsOf(agentId), reference);
      },
      copy: async (from, reference, to) => (await this.#run("copyBlob", from, to, reference)) === 1,
    };
  }

  async head(agentId: string): Promise<TableHead | undefined> {
    return headOf((await this.#run("head", agentId)) as HeadCells);
  }

  async claim(agentId: string, { owner, beat }: TableClaim, replaced?: TableSighting): Promise<number | undefined> {
    const seen = replaced ? [replaced.generation, replaced.beat] : [];
    return ((await this.#run("claim", agentId, "", owner, beat, ...seen)) as number | null) || undefined;
  }

  async renew(agentId: string, generation: number, beat: string): Promise<TableRenewal | undefined> {
    const renewed = (await this.#run("renew", agentId, generation, beat)) as readonly string[] | null;
    return renewed ? { stop: renewed[0] ?? undefined } : undefined;
  }

  async release(agentId: string, generation: number): Promise<void> {
    await this.#run("release", agentId, generation);
  }

  async requestStop(agentId: string, generation: number, reason: string): Promise<void> {
    await this.#run("requestStop", agentId, generation, reason);
  }

  async append(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    return (await this.#run("append", agentId, generation, ...cellsOf(append), ...summaryOf(agentId, append))) === 1;
  }

  async rows(agentId: string, range: TableRange): Promise<TablePage> {
    const { after, upTo = "+inf", sinceSnapshot, last } = range;
    const limits = [after, upTo, flag(sinceSnapshot), flag(last), rowsOfPage];
    const [start, end, pruned, rows] = (await this.#run("rows", agentId, "", ...limits)) as [
      string,
      string,
      string[],
      string[],
    ];
    return {
      start: Number(start),
      end: Number(end),
      pruned: pruned.map(Number),
      rows: rows.slice(0, rowsOfPage).map(rowOf),
      more: rows.length > rowsOfPage,
    };
  }

  async pruned(agentId: string): Promise<TablePruned> {
    const [start, positions] = (await this.#run("pruned", agentId)) as [string, string[]];
    return { start: Number(start), positions: positions.map(Number) };
  }

  async remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean> {
    return (await this.#run("remove", agentId, generation, ...ranges.flat())) === 1;
  }

  async drop(agentId: string, generation: number): Promise<boolean> {
    return (await this.#run("drop", agentId, generation)) === 1;
  }

  async stage(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean> {
    return (await this.#run("stage", agentId, generation, flag(first), ...appends.flatMap(cellsOf))) === 1;
  }

  async publish(agentId: string, generation: number, published: TablePublication): Promise<boolean> {
    const { append } = published;
    const cells = [...cellsOf(append), ...summaryOf(agentId, append)];
    return (await this.#run("publish", agentId, generation, published.generation, published.start, ...cells)) === 1;
  }

  async list({ statuses, after, limit }: TableSelection): Promise<TableList> {
    const index = statuses?.length === 1 ? `:${statuses[0]}` : "";
    const from = after ? `(${behind(after)}` : "-";
    const [places, ...rows] = (await this.#run("list", "", index, from, limit)) as [string[], ...ListedCells[]];
    const agents = rows.slice(0, limit).map(([order, text, ...head], at) => ({
      agentId: agentOf(places[at] ?? ""),
      order,
      text,
      head: headOf(head) ?? { generation: 0, beat: "" },
    }));
    return { agents, more: places.length > limit };
  }

  #run(script: keyof typeof scripts, agentId: string, ...values: (string | number)[]): Promise<unknown> {
    return this.#redis.eval(scripts[script], 1, this.#prefix, agentId, ...values);
  }
}

type ListedCells = readonly [order: string, text: string, ...head: HeadCells];

function headOf([generation, beat, owner, stop]: HeadCells): TableHead | undefined {
  if (generation === null) return undefined;
  return { generation: Number(generation), beat: beat ?? "", owner: owner ?? undefined, stop: stop ?? undefined };
}

function flag(value: boolean | undefined): string {
  return value ? "1" : "0";
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

function cellsOf({ position, encoded, snapshot, pruned }: TableAppend): (string | number)[] {
  return [position, encode(encoded), flag(snapshot), flag(pruned)];
}

function summaryOf(agentId: string, { summary }: TableAppend): string[] {
  return summary ? [summary.status, summary.order, placeOf(summary.order, agentId), summary.text] : [];
}

function rowOf(cell: string): { readonly position: number; readonly encoded: Uint8Array } {
  const [position = "", encoded = ""] = cell.split(" ");
  return { position: Number(position), encoded: Buffer.from(encoded, "base64") };
}

/** Sorts like the bytes of the order, then those of the id: `!` is before every hexadecimal digit. */
function placeOf(order: string, agentId: string): string {
  return `${hex(order)}!${hex(agentId)}`;
}

function agentOf(place: string): string {
  return Buffer.from(place.slice(place.indexOf("!") + 1), "hex").toString();
}

/** The last place that `after` names: `"` comes after `!`, and before every hexadecimal digit. */
function behind({ order, agentId }: NonNullable<TableSelection["after"]>): string {
  return agentId === undefined ? `${hex(order)}"` : placeOf(order, agentId);
}

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}
