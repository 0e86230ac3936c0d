import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/internal/Clock.ts";
import { Inbox } from "../../../src/journal/inbox/Inbox.ts";
import { nextOwner } from "../../storage/file/support/fixture.ts";

it("looks for events rarely while many agents are released, and once more after the last release", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const inbox = Inbox.of(storage);
  let looks = 0;
  let told = (): void => {};
  const wait = (): void => {
    const stop = inbox.onArrival("a", { clock: systemClock, since: inbox.arrivals }, () => {
      stop();
      looks++;
      told();
      queueMicrotask(wait);
    });
  };
  wait();
  const start = performance.now();
  for (let at = 0; at < 500; at++) await (await storage.log.open(`b${at}`, nextOwner())).release();
  expect(looks).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - start) / 100));
  const before = looks;
  await new Promise<void>((resolve) => (told = resolve));
  expect(looks).toBeGreaterThan(before);
});
