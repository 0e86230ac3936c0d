import { FilePersistenceStorageProvider, type FileSystem } from "agent-persistence/file";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { SimulatedClock, SimulatedFileSystem } from "agent-persistence/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { delegating } from "../../powerloss/delegating.ts";
import { cases } from "../../soak/cases.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { append, collect, nextOwner, summaryOf } from "../../storage/file/support/fixture.ts";
import { oneNode } from "./oneNode.ts";

/** How many agents there are that nobody asks for. */
const [few, many] = [10, cases(400, 10_000)];
/** The promise: they cost nothing. */
const atMost = 1.5;
/** About how many names of a folder are read in the time of one call. */
const namesACall = 16;

/** Files, and what is asked of them. */
class Store {
  readonly clock = new SimulatedClock();
  readonly #simulated = new SimulatedFileSystem();
  readonly #fileSystem: FileSystem;
  #names = 0;

  constructor() {
    this.#fileSystem = delegating(this.#simulated, {
      readdir: async (path) => {
        const names = await this.#simulated.readdir(path);
        this.#names += names.length;
        return names;
      },
    });
  }

  /** @param status of agents that are there. */
  static async of(count: number, status: "completed" | "dropped"): Promise<Store> {
    const store = new Store();
    const { log } = store.storage();
    for (let n = 0; n < count; n++) {
      const agentId = `${status} ${String(n).padStart(5, "0")}`;
      const owned = await log.open(agentId, nextOwner());
      await append(owned, "x", { summary: summaryOf(agentId, "completed", `2026-01-01T00:00:00.000Z ${agentId}`) });
      await (status === "dropped" ? owned.drop() : owned.release());
    }
    // The first list of a boot makes the index.
    await collect(log.list({ status: "queued" }));
    return store;
  }

  /** As a new process has it. */
  storage(): FilePersistenceStorageProvider {
    return new FilePersistenceStorageProvider({ directory: "/store", fileSystem: this.#fileSystem });
  }

  tasks(): TaskManager {
    return new TaskManager({ storage: this.storage(), clock: this.clock });
  }

  async cost(action: () => Promise<unknown>): Promise<number> {
    const before = this.#spent;
    await action();
    return this.#spent - before;
  }

  async enqueue(count: number): Promise<void> {
    const tasks = this.tasks();
    for (let n = 0; n < count; n++) {
      this.clock.advance(1_000);
      await tasks.create({ taskName: "echo", inputRequest: "in" });
    }
  }

  /** A worker of a new process runs until nothing is left. */
  async work(): Promise<void> {
    const agents = durableAgent(
      oneNode((input) => input),
      this.storage(),
      { clock: this.clock },
    );
    await new TaskWorker({ tasks: this.tasks(), agents }).run();
  }

  get #spent(): number {
    return this.#simulated.calls.length + this.#names / namesACall;
  }
}

describe.each(["completed", "dropped"] as const)("among many agents that are %s", (status) => {
  const stores: Store[] = [];
  beforeAll(async () => void stores.push(await Store.of(few, status), await Store.of(many, status)));

  /** What something costs among many ÷ among few. */
  async function growth(action: (store: Store) => Promise<unknown>): Promise<number> {
    const [small, large] = stores;
    return ((await large?.cost(() => action(large))) ?? 0) / ((await small?.cost(() => action(small))) ?? 0);
  }

  const claim = async (store: Store) => {
    const claimable = store.tasks().claimable();
    await claimable.next();
    await claimable.return(undefined);
  };

  it("a worker starts, finds and runs one task in a large storage at the same cost as in a small one", async () => {
    for (const store of stores) await store.enqueue(1);
    expect(await growth((store) => store.work())).toBeLessThan(atMost);
  });

  it("an empty poll and a claim cost as much in a large storage as in a small one", async () => {
    expect(await growth(claim)).toBeLessThan(atMost);
    for (const store of stores) await store.enqueue(1);
    expect(await growth(claim)).toBeLessThan(atMost);
    for (const store of stores) await store.work();
  });

  it("a page of a list costs only its entries", async () => {
    for (const store of stores) await store.enqueue(40);
    const cursors = new Map<Store, string>();
    const turn = async (store: Store) => {
      const after = cursors.get(store);
      const page = await collect(store.storage().log.list({ limit: 20, ...(after !== undefined && { after }) }));
      expect(page).toHaveLength(20);
      cursors.set(store, page.at(-1)?.order ?? "");
    };
    expect(await growth(turn)).toBeLessThan(atMost);
    expect(await growth(turn)).toBeLessThan(atMost);
  });
});

it("a poll and a due task cost little more among many sleeping agents than among few", async () => {
  const costOf = async (sleeping: number) => {
    const store = new Store();
    const { log } = store.storage();
    const add = async (agentId: string, dueAt: string) => {
      const owned = await log.open(agentId, nextOwner());
      const summary = { ...summaryOf(agentId, "waiting", agentId), taskName: "t", dueAt };
      await append(owned, "x", { summary });
      await owned.release();
    };
    for (let n = 0; n < sleeping; n++) await add(`sleeping ${n}`, `2030-01-01T00:00:${10 + (n % 50)}.000Z`);
    await collect(log.list({ status: "queued" }));
    const poll = (found: readonly string[]) =>
      store.cost(async () =>
        expect((await collect(store.tasks().claimable())).map(({ taskId }) => taskId)).toEqual(found),
      );
    const empty = await poll([]);
    await add("due", "2020-01-01T00:00:00.000Z");
    return { empty, due: await poll(["due"]) };
  };
  const [small, large] = [await costOf(few), await costOf(many)];
  // The names of a directory of the index, which has about 256 entries, and the names of the directories. The number of
  // directories that a poll reads grows with the logarithm of the sleeping agents.
  const most = ((256 + 64 + many / 128) / namesACall) * (1 + Math.log2(many / 256));
  expect(large.empty - small.empty).toBeLessThan(most);
  expect(large.due - small.due).toBeLessThan(most);
});

it("a list of all agents reads deleted ones once and never again", async () => {
  const costOf = async (count: number) => {
    const store = await Store.of(count, "dropped");
    return store.cost(async () => expect(await collect(store.storage().log.list())).toEqual([]));
  };
  // Their names are all that is left.
  expect((await costOf(many)) - (await costOf(few))).toBeLessThan((3 * many) / namesACall);
});

it("an index built from many queued tasks finds the first ones like an index that grew with them", async () => {
  const costOf = async (length: number) => {
    const store = new Store();
    const { log } = store.storage();
    for (let n = 0; n < length; n++) {
      // Their folders sort in another order than the tasks.
      const agentId = `${(n * 7_919) % length} queued`;
      const owned = await log.open(agentId, nextOwner());
      await append(owned, "x", {
        summary: { ...summaryOf(agentId, "queued", String(n).padStart(5, "0")), taskName: "t" },
      });
      await owned.release();
    }
    await collect(log.list({ status: "queued" }));
    return store.cost(async () => {
      const claimable = store.tasks().claimable();
      expect((await claimable.next()).value).toMatchObject({ taskId: "0 queued" });
      await claimable.return(undefined);
    });
  };
  expect((await costOf(many)) / (await costOf(cases(100, 300)))).toBeLessThan(atMost);
});

it("processing a queue costs the same for each task at any queue length", async () => {
  const costOf = async (length: number) => {
    const store = await Store.of(0, "completed");
    await store.enqueue(length);
    return (await store.cost(() => store.work())) / length;
  };
  expect((await costOf(cases(60, 3_000))) / (await costOf(10))).toBeLessThan(atMost);
});
