import type { LogRecord } from "agent-persistence/storage";
import { recordsOf } from "../../persistence/support/stored.ts";
import type { AgentStage } from "./AgentStage.ts";
import { allBooked } from "./bookingAgent.ts";
import { agentId } from "../Picture.ts";
import { mustSucceed, Violation } from "../Violation.ts";

/** What a log says of calls and their inverses. */
type Recorded = Readonly<Record<"intent" | "outcome" | "inverse" | "reverted", ReadonlySet<string>>>;

/** What must hold after every crash: nothing was done that is not recorded, and the agent ends its work without doing it twice. */
export async function recoverAgent(stage: AgentStage, answered: number): Promise<void> {
  const before = stage.world.events.length;
  const recorded = await mustSucceed("usable", async () => recordedIn(await recordsOf(stage.storage(), agentId)));
  assertRecorded(stage, recorded, answered);
  await mustSucceed("usable", () => stage.play());
  assertNotRepeated(stage, before, recorded);
  if (stage.isInDoubt) return assertDoubt(recorded);
  assertWorld(stage);
  const { length } = stage.world.events;
  await mustSucceed("idempotent", () => stage.play());
  if (stage.world.events.length > length) throw new Violation("idempotent", "asked again, the agent did something");
}

function recordedIn(records: readonly LogRecord[]): Recorded {
  const callsOf = (kind: string) =>
    new Set(records.filter((one) => one.kind === kind).map((one) => (one as { readonly call?: string }).call ?? ""));
  return {
    intent: callsOf("intent"),
    outcome: callsOf("outcome"),
    inverse: callsOf("inverse"),
    reverted: callsOf("reverted"),
  };
}

/** What has begun is recorded before it has an effect; what was answered is recorded to its end. */
function assertRecorded({ world }: AgentStage, recorded: Recorded, answered: number): void {
  const { intent, outcome, inverse, reverted } = recorded;
  const secondRun = inverse.size > 0 && answered < 3;
  for (const { kind, call, item } of world.events) {
    if (!(kind === "done" ? intent : inverse).has(call))
      throw new Violation("durable before it has an effect", `${item} was ${kind}, and nothing says so`);
    const doneForSure = kind === "done" && answered > 0 && !secondRun;
    const undoneForSure = kind === "undone" && answered > 1;
    if ((doneForSure && !outcome.has(call)) || (undoneForSure && !reverted.has(call)))
      throw new Violation("acknowledged", `${item} was ${kind}, and its end is not recorded`);
  }
}

function assertNotRepeated({ world, variant }: AgentStage, before: number, recorded: Recorded): void {
  const earlier = world.events.slice(0, before);
  for (const { kind, call, item } of world.events.slice(before)) {
    const ended = (kind === "done" ? recorded.outcome : recorded.reverted).has(call);
    const mayRepeat = variant.effect === "idempotent" && !ended;
    if (ended || (!mayRepeat && earlier.some((event) => event.kind === kind && event.call === call)))
      throw new Violation("not repeated", `${item} was ${kind} again`);
  }
}

function assertDoubt({ intent, outcome, inverse, reverted }: Recorded): void {
  if ([...intent].every((call) => outcome.has(call)) && [...inverse].every((call) => reverted.has(call)))
    throw new Violation("usable", "the agent is in doubt, and every call has ended");
}

/** All is done once, and nothing besides stands. */
function assertWorld({ world }: AgentStage): void {
  const items = [...world.standing.values()].sort();
  if (items.join() !== allBooked.join())
    throw new Violation("the world", `${items.join()} stands, and should be ${allBooked.join()}`);
}
