import fc from "fast-check";
import type { ModelledAgent, NextRequest, Trouble } from "./ModelledAgent.ts";
import type { Failure, StorageHarness } from "./StorageHarness.ts";

/** What a storage can do of what the commands ask. */
export type Abilities = Pick<StorageHarness, "fail" | "losePower" | "damage">;

type Command = fc.AsyncCommand<Abilities, ModelledAgent>;

/** Something that is done to the agent, or to its storage. */
class Does implements Command {
  readonly #name: string;
  readonly #action: (agent: ModelledAgent) => Promise<void>;
  readonly #needs: keyof Abilities | undefined;

  constructor(name: string, action: (agent: ModelledAgent) => Promise<void>, needs?: keyof Abilities) {
    this.#name = name;
    this.#action = action;
    this.#needs = needs;
  }

  check(abilities: Abilities): boolean {
    return this.#needs === undefined || abilities[this.#needs] !== undefined;
  }

  run(_abilities: Abilities, agent: ModelledAgent): Promise<void> {
    return this.#action(agent);
  }

  toString(): string {
    return this.#name;
  }
}

const steps = fc.integer({ min: 1, max: 3 });
const target = fc.nat(12);
/** Few calls go wrong at the end of a request. */
const call = fc.oneof({ weight: 3, arbitrary: fc.nat(30) }, fc.nat(120));
const failure = fc.record({ failure: fc.constantFrom<Failure>("EIO", "ENOSPC", "EACCES", "short write"), call });
const ending = fc.record({ endAfter: call });
const thenBy = fc.constantFrom<NextRequest>("resume", "rollback", "other rollback");
const seed = fc.nat(1_000_000);
const named = (name: string, ...values: readonly unknown[]) =>
  `${name}(${values.map((v) => JSON.stringify(v)).join()})`;

const runWith = (count: number, trouble: Trouble | undefined, needs?: keyof Abilities) =>
  new Does(named("run", count, trouble), (agent) => agent.run(count, trouble), needs);
const rollBackWith = (to: number, trouble: Trouble, thenBy: NextRequest, needs?: keyof Abilities) =>
  new Does(named("rollBack", to, trouble, thenBy), (agent) => agent.rollBack(to, { trouble, thenBy }), needs);

/** Random sequences of requests, crashes, failures, losses of power, jumps of the clock, damage and looks. */
export const agentCommands: fc.Arbitrary<Iterable<Command>> = fc.commands<Abilities, ModelledAgent, false>(
  [
    steps.map((count) => runWith(count, undefined)),
    fc.tuple(steps, ending).map(([count, trouble]) => runWith(count, trouble)),
    fc.tuple(steps, failure).map(([count, trouble]) => runWith(count, trouble, "fail")),
    target.map((to) => new Does(named("rollBack", to), (agent) => agent.rollBack(to, {}))),
    fc.tuple(target, ending, thenBy).map(([to, trouble, next]) => rollBackWith(to, trouble, next)),
    fc.tuple(target, failure).map(([to, trouble]) => rollBackWith(to, trouble, "rollback", "fail")),
    seed.map((at) => new Does(named("losePower", at), (agent) => agent.losePower(at), "losePower")),
    seed.map((at) => new Does(named("readDamaged", at), (agent) => agent.readDamaged(at), "damage")),
    fc
      .integer({ min: -100_000_000, max: 100_000_000 })
      .map((ms) => new Does(named("jump", ms), async ({ harness }) => harness.clock.jump(ms))),
    fc.nat(60_000).map((ms) => new Does(named("advance", ms), async ({ harness }) => harness.clock.advance(ms))),
    fc.constant(new Does("look()", (agent) => agent.expect())),
  ],
  { maxCommands: 14 },
) as fc.Arbitrary<Iterable<Command>>;
