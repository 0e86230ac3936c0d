export type FieldTest = (value: unknown) => boolean;
export type FieldTests = Readonly<Record<string, FieldTest>>;
export type FieldList = readonly (readonly [field: string, test: FieldTest])[];

const latestTime = 8.64e15;

export const text: FieldTest = (value) => typeof value === "string";
export const count: FieldTest = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const whole: FieldTest = (value) => Number.isSafeInteger(value);
export const time: FieldTest = (value) => typeof value === "number" && Math.abs(value) <= latestTime;
export const fraction: FieldTest = (value) => typeof value === "number";
export const object: FieldTest = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
export const optional =
  (test: FieldTest): FieldTest =>
  (value) =>
    value === undefined || test(value);
export const oneOf =
  (...values: readonly string[]): FieldTest =>
  (value) =>
    text(value) && values.includes(value as string);
export const listOf =
  (test: FieldTest): FieldTest =>
  (value) =>
    Array.isArray(value) && value.every(test);
export const mapOf =
  (test: FieldTest): FieldTest =>
  (value) =>
    object(value) && Object.values(value as object).every(test);
export const pair: FieldTest = (value) => listOf(whole)(value) && (value as readonly unknown[]).length === 2;
export const sized: FieldTest = (value) => {
  const [hash, bytes, ...rest] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return text(hash) && count(bytes) && rest.length === 0;
};
export const like = (shape: FieldTests): FieldTest => {
  const fields = Object.entries(shape);
  return (value) => object(value) && firstInvalid(value as object, fields) === undefined;
};

export function firstInvalid(value: object, fields: FieldList): string | undefined {
  for (const [field, test] of fields) if (!test((value as Readonly<Record<string, unknown>>)[field])) return field;
  return undefined;
}
