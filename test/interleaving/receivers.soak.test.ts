import { describe, expect, it } from "vitest";
import { encodeEntry } from "../../src/checkpoint/format/entryCodec.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { blindToSuccessors } from "../powerloss/store/brokenFileSystems.ts";
import { Contention, type Wrap } from "./Contention.ts";
import { exploreOrders } from "./explore.ts";
import { cases } from "../soak/cases.ts";

const mostStates = cases(250, 2_000);

/** The lines of a log of two appends, the second one in this generation. */
async function* linesOf(generation: number): AsyncGenerator<Uint8Array> {
  let prev = "";
  for (const [at, text] of ["a", "b"].entries()) {
    const own = at === 0 ? 1 : generation;
    const entry = {
      position: at + 1,
      generation: own,
      id: `${own}-${at + 1}`,
      prev,
      records: [{ kind: "test", text }],
    };
    const { encoded: line, checksum } = encodeEntry(entry, nodeSha256);
    yield line.slice(0, -1);
    prev = checksum;
  }
}

const receive = (contention: Contention, name: string, generation: number): Promise<void> => {
  const arrival = `${name} arrives`;
  const last = { id: arrival, records: [{ kind: "test", text: arrival } as never] };
  return contention.receive(name, { appends: linesOf(generation), generation }, last, ["a", "b", arrival]);
};

/** One receives a log whose newest line has a generation, and another comes at once. */
const twoContenders =
  (other: "receives" | "opens" | "deletes", generation: number, wrap?: Wrap) => async (): Promise<Contention> => {
    const contention = new Contention("everybody else", wrap);
    await receive(contention, "second", generation);
    if (other === "receives") await receive(contention, "third", generation);
    else
      await contention.start(
        "third",
        async () => undefined,
        async (_log, owned) => (other === "opens" ? contention.append(owned, "third") : contention.drop(owned)),
      );
    return contention;
  };

describe("two processes that create one agent, one by receiving its log, in every order of their calls", () => {
  it.each([
    ["it leaves out numbers, and the other links the next one", "opens", 9],
    ["it leaves out one number, and the other links that one", "opens", 2],
    ["the other deletes the agent, and it leaves out numbers", "deletes", 9],
    ["the other deletes the agent, and it leaves out no numbers", "deletes", 1],
    ["both receive, and leave out the same numbers", "receives", 9],
  ] as const)("lose no acknowledged data, whenever they end or power is lost: %s", async (_name, other, generation) => {
    const { found, states } = await exploreOrders(twoContenders(other, generation), mostStates);
    expect(found).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });

  it("fail the check if they do not notice their successors", async () => {
    const { found } = await exploreOrders(twoContenders("opens", 9, blindToSuccessors), 5000);
    expect(found).toMatch("was acknowledged and is gone");
  });
});
