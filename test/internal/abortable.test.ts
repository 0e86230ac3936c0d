import { getEventListeners } from "node:events";
import { SimulatedClock } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { pause } from "../../src/internal/abortable.ts";

it("many pauses with one signal add one listener, because Node reports more than ten as a leak", async () => {
  const clock = new SimulatedClock();
  const controller = new AbortController();
  const listeners = () => getEventListeners(controller.signal, "abort").length;
  const paused = [10, 20, 30].map((ms) => pause(clock, ms, controller.signal));
  expect(listeners()).toBe(1);
  clock.advance(10);
  await paused[0];
  expect(listeners()).toBe(1);
  controller.abort();
  await Promise.all(paused);
  expect(listeners()).toBe(0);
  await pause(clock, 10, controller.signal);
});
