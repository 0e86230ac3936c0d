import { describe, expect, it } from "vitest";
import { design, explore, type Protocol } from "./exploreReservations.ts";
import { wholeSoak } from "../../soak/cases.ts";

type Requests = Parameters<typeof explore>[0];

const sound: readonly (readonly [string, Requests, number])[] = [
  [
    "two writers, twice each",
    [
      ["write", 2],
      ["write", 2],
    ],
    1,
  ],
  [
    "a writer and a reader, twice each",
    [
      ["write", 2],
      ["read", 2],
    ],
    1,
  ],
  [
    "a writer three times beside one that sleeps",
    [
      ["write", 3],
      ["write", 1],
    ],
    0,
  ],
];
const large: typeof sound = [
  [
    "three writers",
    [
      ["write", 1],
      ["write", 1],
      ["write", 1],
    ],
    1,
  ],
  [
    "a writer and two readers",
    [
      ["write", 1],
      ["read", 1],
      ["read", 1],
    ],
    1,
  ],
];
const three: Requests = [
  ["write", 2],
  ["write", 1],
  ["write", 1],
];
const readers: Requests = [
  ["write", 1],
  ["read", 1],
  ["read", 1],
];
const broken: readonly (readonly [string, Requests, Partial<Protocol>])[] = [
  ["taking a link for a reservation", three, { believes: "that its link counted" }],
  ["rename in the place of link", three, { publishes: "rename" }],
  ["release by removing the files", three, { releases: "by removing the files" }],
  ["take-over by removing the files", three, { expires: "by removing the files" }],
];

/** Found after a minute. */
const deep: typeof broken = [
  ["trusting what was read without looking whether it is still the highest", readers, { trusts: "what it reads" }],
];

describe("the protocol of reservations, in every order of steps and with ending processes", () => {
  it.each(wholeSoak ? [...sound, ...large] : sound)(
    "the protocol of reservations never has two writers: %s",
    (_name, requests, deaths) => {
      const { bad, ends, states } = explore(requests, deaths, design);
      expect(bad).toBe(0);
      expect(ends).toBeGreaterThan(0);
      expect(states).toBeGreaterThan(1_000);
    },
  );

  it.each(wholeSoak ? [...broken, ...deep] : broken)(
    "the exploration of reservations finds a violation with %s",
    (_name, requests, variant) => {
      expect(explore(requests, 1, { ...design, ...variant }, true).bad).toBe(1);
    },
  );
});
