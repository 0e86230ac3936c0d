import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  FileStreamStore,
  InMemoryStreamStore,
  type PostgresListen,
  PostgresStreamStore,
  RedisStreamStore,
  SqliteStreamStore,
  type StreamStore,
} from "agent-persistence/streams";
import { streamStoreConformance } from "agent-persistence/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { testDirectory } from "../../storage/file/support/fixture.ts";
import { poolOf, databaseUrl, newSchema, pool } from "../../storage/postgres/database.ts";
import { failuresOf } from "../../testing/failuresOf.ts";
import { FakeRedis } from "./FakeRedis.ts";
import { storesUnderTest } from "./storesUnderTest.ts";
import { postgresVersion } from "../../../src/storage/postgres/postgresMigrations.ts";

/** Stores with one mistake each. */
const broken: readonly { readonly name: string; readonly fails: string; readonly make: () => StreamStore }[] = [
  {
    name: "shows all writers",
    fails: "returns only entries of the newest writer",
    make: () => {
      const entries: Parameters<StreamStore["append"]>[1][] = [];
      return {
        append: async (_id, entry) => void entries.push(entry),
        read: async () => entries,
        remove: async () => undefined,
      };
    },
  },
  {
    name: "ignores the place of a removal",
    fails: "removes the entries up to a given place and those of earlier writers",
    make: () => {
      const store = new InMemoryStreamStore();
      return {
        append: (...entry) => store.append(...entry),
        read: (...of) => store.read(...of),
        remove: (id) => store.remove(id),
      };
    },
  },
  {
    name: "forgets the order",
    fails: "orders entries by number, beyond one digit",
    make: () => {
      const store = new InMemoryStreamStore();
      return {
        append: (...entry) => store.append(...entry),
        read: async (...of) =>
          [...(await store.read(...of))].toSorted((a, b) => (`${a.first}` < `${b.first}` ? -1 : 1)),
        remove: (...of) => store.remove(...of),
      };
    },
  },
];

for (const [name, make] of Object.entries(storesUnderTest))
  describe(`a stream store ${name}`, () => {
    it.each(streamStoreConformance)("$name", (test) => test.run(make, () => undefined));
  });

describe("the suite for stream stores", () => {
  it("uses each test name once", () => {
    expect(new Set(streamStoreConformance.map(({ name }) => name)).size).toBe(streamStoreConformance.length);
  });

  it("accepts a store that starts to watch later, and reports only entries that are new", async () => {
    const make = () => {
      const store = new InMemoryStreamStore();
      const watch = store.watch.bind(store);
      store.watch = (...watched) => {
        const ends = [new Promise<void>((resolve) => setImmediate(resolve)).then(() => watch(...watched))];
        return () => void ends.pop()?.then((end) => end());
      };
      return { store };
    };
    expect(await failuresOf(streamStoreConformance, make)).toEqual(new Map());
  });

  it.each(broken)("fails a store that $name", async ({ make, fails }) => {
    expect([...(await failuresOf(streamStoreConformance, () => ({ store: make() }))).keys()]).toContain(fails);
  });
});

describe("a file stream store", () => {
  it("leaves no file behind", async () => {
    const directory = await testDirectory();
    const store = new FileStreamStore({ directory });
    await store.append("desk", { writer: 1, first: 1, chunks: ["a"] });
    const [folder = ""] = await readdir(directory);
    await writeFile(join(directory, folder, "1-interrupted.tmp"), "half");
    await store.remove("desk");
    expect(await readdir(directory)).toEqual([]);
  });

  it("leaves no file of a failed append", async () => {
    const directory = await testDirectory();
    const store = new FileStreamStore({ directory });
    await store.append("desk", { writer: 1, first: 1, chunks: ["a"] });
    const [folder = ""] = await readdir(directory);
    await mkdir(join(directory, folder, "1-2-2.json"));
    const append = store.append("desk", { writer: 1, first: 2, chunks: ["b"] });
    await expect(append).rejects.toMatchObject({ code: "storage_failed" });
    expect((await readdir(join(directory, folder))).toSorted()).toEqual(["1-1-1.json", "1-2-2.json"]);
  });

  it("skips files that it did not write, and entries that a power failure emptied", async () => {
    const directory = await testDirectory();
    const store = new FileStreamStore({ directory });
    await store.append("desk", { writer: 1, first: 1, chunks: ["a"] });
    const [folder = ""] = await readdir(directory);
    await writeFile(join(directory, folder, "1-2-2.json"), "");
    await writeFile(join(directory, folder, "notes.txt"), "x");
    await mkdir(join(directory, folder, "1-9-3.json"));
    expect(await store.read("desk")).toEqual([{ writer: 1, first: 1, chunks: ["a"] }]);
  });

  it("skips entries without texts, whatever number their names have", async () => {
    const directory = await testDirectory();
    const store = new FileStreamStore({ directory });
    await store.append("desk", { writer: 1, first: 1, chunks: ["a"] });
    const [folder = ""] = await readdir(directory);
    for (const [at, content] of ["null", "{}", "[1]", '"text"'].entries())
      await writeFile(join(directory, folder, `1-${at + 2}-${at + 4_000_000_000}.json`), content);
    expect(await store.read("desk")).toEqual([{ writer: 1, first: 1, chunks: ["a"] }]);
    await store.remove("desk");
    expect(await readdir(directory)).toEqual([]);
  });

  it("reports a directory that is a file", async () => {
    const directory = join(await testDirectory(), "file");
    await writeFile(directory, "");
    const append = new FileStreamStore({ directory }).append("desk", { writer: 1, first: 1, chunks: ["a"] });
    await expect(append).rejects.toMatchObject({ code: "storage_failed" });
  });
});

describe("a Redis stream store", () => {
  it("reads and removes without the entries that a reader has seen", async () => {
    const client = new FakeRedis();
    const store = new RedisStreamStore({ client });
    for (let first = 1; first <= 200; first += 2)
      await store.append("desk", { writer: 1, first, chunks: [`${first}`, `${first + 1}`] });
    expect(await store.read("desk", { writer: 1, number: 195 })).toEqual([
      { writer: 1, first: 195, chunks: ["195", "196"] },
      { writer: 1, first: 197, chunks: ["197", "198"] },
      { writer: 1, first: 199, chunks: ["199", "200"] },
    ]);
    await store.remove("desk", { writer: 1, number: 5 });
    expect(client.sent).toBeLessThan(10);
    expect(await store.read("desk")).toHaveLength(98);
  });
});

describe("a Postgres stream store", () => {
  it("wakes readers of other processes through LISTEN, with one subscription", async () => {
    const [client, schema] = [await pool(), newSchema()];
    let opened = 0;
    let wake: () => void = () => undefined;
    const listen = async (channel: string, onWake: () => void) => {
      opened++;
      const own = poolOf(await databaseUrl(), 1);
      const connection = await own.connect();
      connection.on("notification", onWake);
      await connection.query(`LISTEN ${channel}`);
      wake();
      return {
        close: async () => {
          connection.release();
          await own.end();
        },
      };
    };
    const listening = new Promise<void>((resolve) => (wake = resolve));
    const store = new PostgresStreamStore({ client, schema, listen });
    const other = new PostgresStreamStore({ client, schema, listen });
    const woken = new Promise<void>((resolve) => {
      store.watch?.("a", () => resolve());
    });
    let unneeded = 0;
    const end = store.watch?.("b", () => unneeded++);
    await listening;
    await other.append("a", { writer: 1, first: 1, chunks: ["a"] });
    await woken;
    expect(opened).toBe(1);
    expect(unneeded).toBe(0);
    end?.();
  });

  it("wakes the readers of one stream, and of all streams if the payload of a notification is missing", async () => {
    const woken: string[] = [];
    let notify: Parameters<PostgresListen>[1] = () => expect.unreachable();
    let told: unknown;
    const query = async (text: string, values: readonly unknown[] = []) => {
      if (text.includes("pg_notify")) told = values.at(-1);
      return { rows: [{ version: postgresVersion }] };
    };
    const listen: PostgresListen = async (_channel, onWake) => {
      notify = onWake;
      return { close: () => undefined };
    };
    const store = new PostgresStreamStore({ client: { query }, listen });
    for (const id of ["a", "b"]) store.watch?.(id, () => void woken.push(id));
    await store.append("b", { writer: 1, first: 1, chunks: ["x"] });
    for (const notification of [told as string, { payload: told as string }]) {
      notify(notification);
      expect(woken.splice(0)).toEqual(["b"]);
    }
    for (const notification of [undefined, "", {}]) {
      notify(notification);
      expect(woken.splice(0)).toEqual(["a", "b"]);
    }
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("too many connections"))],
    [
      "throws",
      () => {
        throw new Error("too many connections");
      },
    ],
  ])("listens for the next reader if listen first %s", async (_name, fail) => {
    const [warned, onWarning] = [[] as string[], ({ message }: Error) => void warned.push(message)];
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    let calls = 0;
    const listen = () => (calls++ === 0 ? fail() : Promise.resolve({ close: () => undefined }));
    const store = new PostgresStreamStore({ client: { query: async () => ({ rows: [] }) }, listen });
    const ends = [store.watch?.("a", () => {})];
    await expect.poll(() => warned).toEqual([expect.stringContaining("too many connections")]);
    ends.push(store.watch?.("b", () => {}));
    await expect.poll(() => calls).toBe(2);
    for (const end of ends) end?.();
  });

  it("ignores a broken connection when its last reader leaves", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const closed = new Promise<void>((resolve) => {
      const close = () => (resolve(), Promise.reject(new Error("the connection has ended")));
      const listen = async () => ({ close });
      new PostgresStreamStore({ client: { query: async () => ({ rows: [] }) }, listen }).watch?.("a", () => {})();
    });
    await closed;
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });
});

describe("wrong options", () => {
  it.each<[string, () => StreamStore]>([
    ["an unknown option of files", () => new FileStreamStore({ folder: "x" } as never)],
    ["an empty directory", () => new FileStreamStore({ directory: "" })],
    ["no database", () => new SqliteStreamStore({} as never)],
    ["no client of Postgres", () => new PostgresStreamStore({} as never)],
    [
      "a wrong schema",
      () => new PostgresStreamStore({ client: { query: () => Promise.reject(new Error()) }, schema: "pg_x" }),
    ],
    ["a client of Redis without call", () => new RedisStreamStore({ client: {} as never })],
    [
      "a prefix that is no text",
      () => new RedisStreamStore({ client: { call: () => Promise.resolve() }, prefix: 1 as never }),
    ],
  ])("refuses %s", (_name, make) => {
    expect(make).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });

  it("reports failures of a client as storage errors", async () => {
    const down = () => Promise.reject(new Error("ECONNREFUSED"));
    const redis = new RedisStreamStore({ client: { call: down } });
    await expect(redis.append("a", { writer: 1, first: 1, chunks: ["a"] })).rejects.toMatchObject({
      code: "storage_failed",
    });
    await expect(redis.read("a")).rejects.toMatchObject({ code: "storage_failed" });
    const postgres = new PostgresStreamStore({ client: { query: down } });
    await expect(postgres.read("a")).rejects.toMatchObject({ code: "storage_failed" });
  });
});

it("lets other work run while it reads many files", async () => {
  const store = new FileStreamStore({ directory: await testDirectory() });
  for (let first = 1; first <= 300; first++) await store.append("a", { writer: 1, first, chunks: ["chunk"] });
  let turns = 0;
  let isReading = true;
  const count = () => {
    turns += 1;
    if (isReading) setImmediate(count);
  };
  setImmediate(count);
  expect(await store.read("a")).toHaveLength(300);
  isReading = false;
  expect(turns).toBeGreaterThanOrEqual(3);
});
