import type { DynamoDBItem } from "./DynamoDBClient.ts";

export type AttributeValue = string | number | Uint8Array | readonly number[] | Attributes;

/** The attributes of an item. Attributes with the value `undefined` are not stored. */
export interface Attributes {
  readonly [name: string]: AttributeValue | undefined;
}

export function toItem(attributes: Attributes): Record<string, object> {
  const present = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, toAttribute(value as AttributeValue)]));
}

export function fromItem(item: DynamoDBItem): Attributes {
  return Object.fromEntries(Object.entries(item).map(([name, attribute]) => [name, fromAttribute(attribute)]));
}

function toAttribute(value: AttributeValue): object {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number") return { N: String(value) };
  if (value instanceof Uint8Array) return { B: value };
  if (Array.isArray(value)) return { L: value.map(toAttribute) };
  return { M: toItem(value as Attributes) };
}

function fromAttribute(attribute: object): AttributeValue | undefined {
  const [type, value] = Object.entries(attribute)[0] as [string, unknown];
  switch (type) {
    case "S":
      return value as string;
    case "N":
      return Number(value);
    case "B":
      // Copies the bytes, because a slice of a Buffer shares memory with a larger buffer.
      return new Uint8Array(value as Uint8Array);
    case "L":
      return (value as readonly object[]).map((part) => fromAttribute(part) as number);
    case "M":
      return fromItem(value as DynamoDBItem);
    default:
      return undefined;
  }
}
