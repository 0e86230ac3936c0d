import { type AIAgent, type MigratedLine, persistence } from "agent-persistence";
import { MigrationFailedError } from "agent-persistence/errors";
import { describe, expect, it } from "vitest";
import { collect } from "../../storage/file/support/fixture.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages, RowsProvider } from "../support/storages.ts";
import { renamedNode } from "./support/changes.ts";
import { base, places, type Spec, type Stop } from "./support/Spec.ts";

type Migrate = (line: MigratedLine) => MigratedLine | Promise<MigratedLine>;

const after: Spec = { ...renamedNode("two", "second"), version: 1 };
const kept =
  (value: unknown): Migrate =>
  (line) => ({ ...line, storage: { ...line.storage, value } });

const migrates: readonly (readonly [what: string, migrate: Migrate, code: string | undefined])[] = [
  ["its result fits", kept("x".repeat(15_000)), undefined],
  ["it throws", () => Promise.reject(new Error("no way")), "migration_failed"],
  ["a value cannot be stored", kept(() => 1), "not_serializable"],
  [
    "a value in the input cannot be stored",
    (line) => ({ ...line, lastInput: { text: Symbol("x") } }),
    "not_serializable",
  ],
  ["the values have too many bytes", kept("x".repeat(25_000)), "checkpoint_too_large"],
  ["the node is unknown", (line) => ({ ...line, nodeId: "nowhere" }), "unknown_node"],
  ["a tool is unknown", (line) => ({ ...line, tools: ["gone"] }), "unknown_tool"],
];

describe.each(logStorages)("$name:", (storage) => {
  // On files in one place: only how records are stored differs there.
  describe.each(storage.name === "memory" ? places : places.slice(0, 1))("in $name,", (place) => {
    async function stopped(migrate: Migrate) {
      const opened = await storage.open();
      const stop: Stop = { at: "two" };
      await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
      stop.at = undefined;
      const migrations = [{ from: 0, to: 1, nodes: { [place.path("two")]: place.path("second") }, migrate }];
      const agent = () => place.agent(after, stop, opened(), { migrations, maxCheckpointBytes: 20_000 });
      const goOn = () => place.agent(base, stop, opened()).resume();
      return { agent, goOn, before: await recordsOf(opened()), records: () => recordsOf(opened()) };
    }

    it.each(migrates)("checkMigrations predicts the resume and changes nothing if %s", async (_if, migrate, code) => {
      const { agent, goOn, before, records } = await stopped(migrate);
      const checks = await collect(persistence(agent()).checkMigrations());
      expect(await records()).toEqual(before);
      if (code === undefined) {
        expect(checks).toEqual([{ agentId: "a", verdict: "migrates", differences: [] }]);
        expect(await agent().resume()).toMatchObject({ status: "completed" });
        return;
      }
      const error = (await agent()
        .resume()
        .catch((cause: unknown) => cause)) as Error;
      expect(error).toMatchObject({ code });
      expect(checks).toEqual([{ agentId: "a", verdict: "incompatible", differences: [error.message] }]);
      expect(await records()).toEqual(before);
      await expect(goOn()).resolves.toMatchObject({ status: "completed" });
    });

    it("a migration that cannot be stored is detected before a resume from a checkpoint branches", async () => {
      const { agent, before, records } = await stopped(kept("x".repeat(25_000)));
      const checkpoints = await persistence(agent()).agent("a").getCheckpoints();
      // The first one of a caller is before its call: nothing of it migrates.
      const from = checkpoints.at(place.name === "a called agent" ? -1 : 0);
      const resume = agent().resume({ agentId: "a", checkpointId: from?.checkpointId ?? "" });
      await expect(resume).rejects.toMatchObject({ code: "checkpoint_too_large" });
      expect(await records()).toEqual(before);
    });

    it("the error of a migration that throws names the migration and contains its error", async () => {
      const thrown = new TypeError("no way");
      const { agent } = await stopped(() => Promise.reject(thrown));
      const error: unknown = await agent()
        .resume()
        .catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(MigrationFailedError);
      expect(error).toMatchObject({ from: 0, to: 1, reason: "no way", cause: thrown });
    });

    it.each(["resume", "run", "checkMigrations"])(
      "the signal of %s ends the wait for a migration",
      async (operation) => {
        const controller = new AbortController();
        const { signal } = controller;
        let calls = 0;
        const { agent, goOn, before, records } = await stopped(() => {
          calls++;
          controller.abort(new Error("enough"));
          return new Promise<never>(() => {});
        });
        const made = {
          resume: () => agent().resume({ agentId: "a", signal }),
          run: () => agent().run("in", { agentId: "a", signal }),
          checkMigrations: () => collect(persistence(agent()).checkMigrations({ signal })),
        }[operation];
        await expect(made?.()).rejects.toThrow("enough");
        expect(calls).toBe(1);
        expect(await records()).toEqual(before);
        await expect(goOn()).resolves.toMatchObject({ status: "completed" });
      },
    );
  });
});

it.each(["checkMigrations", "unfinished"] as const)(
  "%s is refused on a three-method storage, which cannot list its agents",
  async (list) => {
    const agent = places[0]?.agent(base, { at: undefined }, new RowsProvider());
    const listed: AsyncIterable<unknown> = persistence(agent as AIAgent)[list]();
    await expect(collect(listed)).rejects.toMatchObject({ code: "not_supported", operation: `${list}()` });
  },
);
