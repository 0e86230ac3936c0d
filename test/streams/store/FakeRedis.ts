import type { RedisStreamClient } from "agent-persistence/streams";

type Id = readonly [high: number, low: number];
type Entry = [id: string, fields: string[]];

/** The commands of Redis Streams that the store uses. ioredis-mock has no XDEL, and accepts ids in any order. */
export class FakeRedis implements RedisStreamClient {
  /** The entries that were sent in replies. */
  sent = 0;
  readonly #streams = new Map<string, { last: Id; entries: Entry[] }>();

  async call(command: string, key: string, ...values: string[]): Promise<unknown> {
    const stream = this.#streams.get(key) ?? { last: [0, 0], entries: [] };
    switch (command) {
      case "XADD": {
        const [id = "", ...fields] = values;
        const [high, low] = idOf(id);
        if (high === 0 && low === 0) throw new Error("ERR The ID specified in XADD must be greater than 0-0");
        if (high < stream.last[0] || (high === stream.last[0] && low <= stream.last[1]))
          throw new Error("ERR The ID specified in XADD is equal or smaller than the target stream top item");
        this.#streams.set(key, { last: [high, low], entries: [...stream.entries, [id, fields]] });
        return id;
      }
      case "XRANGE": {
        const [start = "", end = ""] = values;
        return this.#reply(stream.entries.filter(([id]) => isWithin(id, start, end)));
      }
      case "XREVRANGE": {
        const [end = "", start = "", , count] = values;
        const found = stream.entries.filter(([id]) => isWithin(id, start, end)).toReversed();
        return this.#reply(found.slice(0, count === undefined ? undefined : Number(count)));
      }
      case "XDEL": {
        // The stream and its last id remain, also without entries.
        const kept = stream.entries.filter(([id]) => !values.includes(id));
        const deleted = stream.entries.length - kept.length;
        stream.entries = kept;
        return deleted;
      }
      case "DEL":
        return Number(this.#streams.delete(key));
      default:
        throw new Error(`ERR unknown command '${command}'`);
    }
  }

  #reply(entries: readonly Entry[]): readonly Entry[] {
    this.sent += entries.length;
    return structuredClone(entries);
  }
}

function isWithin(id: string, start: string, end: string): boolean {
  return (start === "-" || order(start, id) <= 0) && (end === "+" || order(id, end) <= 0);
}

function order(one: string, other: string): number {
  const [[high, low], [otherHigh, otherLow]] = [idOf(one), idOf(other)];
  return high - otherHigh || low - otherLow;
}

function idOf(text: string): Id {
  const [high = 0, low = 0] = text.split("-").map(Number);
  return [high, low];
}
