import { OwnershipLostError, persistence, type Tool } from "agent-persistence";
import { FilePersistenceStorageProvider, type ProcessIdentity } from "agent-persistence/file";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { testDirectory, TestMachine } from "../../storage/file/support/fixture.ts";
import type { NodeBody } from "../support/calledAgents.ts";
import { bothEnded, lineKinds } from "../support/lineKinds.ts";
import { recordsOf } from "../support/stored.ts";
import { World } from "../support/World.ts";

type Book = Tool<{ readonly item: string }, { readonly made: string }>;

const swallow = () => undefined;

/** What a process may do next on a line that another has taken over, and whatever its code catches. */
const late: Readonly<Record<string, (book: Book) => NodeBody>> = {
  "ends its node": () => (role) => role,
  "calls a tool":
    (book) =>
    async (role, { tools }) => {
      await tools.call(book, { item: `late ${role}` }).catch(swallow);
      return role;
    },
  "makes a model request":
    () =>
    async (role, { llm }) => {
      await llm.request().catch(swallow);
      return role;
    },
  asks: () => async (role, context) => {
    await context.requestInput({ prompt: "late?", schema: z.string() }).catch(swallow);
    return role;
  },
  saves: () => async (role, context) => {
    await persistence(context).createCheckpoint().catch(swallow);
    return role;
  },
  "goes back": () => async (role, context) => {
    const own = (await persistence(context).getCheckpoints()).at(-1);
    await persistence(context)
      .rollbackToCheckpoint(own?.checkpointId ?? "")
      .catch(swallow);
    return role;
  },
};

describe.each(lineKinds.map((kind) => [kind.name, kind] as const))(
  "a takeover of an agent with lines, %s",
  (_name, kind) => {
    it.each(Object.keys(late))("makes a process that %s afterwards lose its run and change nothing", async (act) => {
      const directory = await testDirectory();
      const [machine, world] = [new TestMachine(), new World()];
      const [first, second] = [machine.start(), machine.start()];
      const provider = (processIdentity: ProcessIdentity) =>
        new FilePersistenceStorageProvider({ directory, processIdentity });
      const book = world.adder("book", "idempotent") as Book;
      let isTaken = false;
      const build = kind.build(
        world,
        {
          line: async (role, context) => {
            if (isTaken) return role;
            isTaken = true;
            // It is taken for ended and is not.
            machine.end(first);
            const next = build(provider(second));
            expect(await next.resume()).toMatchObject({ status: "completed", output: bothEnded });
            return (late[act] ?? (() => (text) => text))(book)(role, context);
          },
          beside: async (role, { tools }) => {
            await tools.call(book, { item: role });
            return role;
          },
        },
        { tools: [book] },
      );
      const failure: unknown = await build(provider(first), { turns: ["late"] })
        .run("go", { runId: "r" })
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(OwnershipLostError);
      const before = await recordsOf(provider(second));
      const latest = await persistence(build(provider(second)))
        .agent("a")
        .getLatestCheckpoint();
      expect(latest).toMatchObject({ status: "completed", lastInput: bothEnded });
      expect(world.items).toEqual(["beside"]);
      expect(await build(provider(second)).run("go", { runId: "r" })).toMatchObject({ output: bothEnded });
      expect(await recordsOf(provider(second))).toEqual(before);
    });
  },
);
