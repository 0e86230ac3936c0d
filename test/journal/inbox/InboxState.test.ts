import { expect, it } from "vitest";
import { InboxState, type InboxRecord } from "../../../src/journal/inbox/InboxState.ts";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { cases } from "../../soak/cases.ts";
import { testSeed } from "../../testSeed.ts";

const names = ["a", "b"];

interface Asked {
  readonly request: string;
  readonly event: string;
  /** The number of receipts before the request. */
  readonly receipts: number;
}

/** Chooses the next record of an inbox, as an agent with several open requests and rollbacks makes it. */
function nextRecord(state: InboxState, asked: Asked[], random: () => number): InboxRecord {
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(random() * items.length)];
  const name = pick(names) ?? "a";
  const chance = random();
  if (chance < 0.35) return { kind: "event", name, at: 0, payload: state.size };
  const known = pick(asked);
  if (chance < 0.37 && known) return { kind: "give_back", request: known.request };
  if (chance < 0.39 && known) return { kind: "take_again", request: known.request };
  if (chance < 0.45) return { kind: "seen", events: state.size };
  if (chance < 0.6 || !known) asked.push({ request: `r${asked.length}`, event: name, receipts: state.receipts });
  const { request, event } = (random() < 0.3 ? known : asked.at(-1)) ?? (asked.at(-1) as Asked);
  const number = state.hasTaken(request) ? undefined : state.eventFor(request, event);
  return number === undefined
    ? { kind: "event", name, at: 0, payload: state.size }
    : { kind: "take", request, event: number };
}

it(`a part of an inbox answers as the whole inbox does, or does not know (seed ${testSeed})`, () => {
  const random = seededNumbers(testSeed);
  const known = { part: 0, all: 0 };
  for (let run = 0; run < cases(5, 100); run++) {
    const [whole, asked] = [new InboxState(), [] as Asked[]];
    let part = new InboxState();
    for (let step = 0; step < 300; step++) {
      const record = nextRecord(whole, asked, random);
      whole.add(record);
      part.add(record);
      if (random() < 0.05) {
        // A writer reads the whole inbox if a part is not usable.
        const records = (part.isUsable ? part : whole).part();
        part = new InboxState();
        for (const each of records) part.add(each);
      }
      if (part.isUsable)
        expect([part.size, part.receipts, part.hasNews]).toEqual([whole.size, whole.receipts, whole.hasNews]);
      for (const { request, event, receipts } of asked) {
        known.all++;
        if (!part.knows(request, receipts)) continue;
        known.part++;
        const number = whole.eventFor(request, event);
        expect(part.eventFor(request, event)).toBe(number);
        if (number !== undefined) expect(part.event(number)).toEqual(whole.event(number));
      }
    }
  }
  expect(known.part / known.all).toBeGreaterThan(0.05);
});
