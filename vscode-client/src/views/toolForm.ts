/** Arguments of a tool by its schema, entered one by one: rows to choose from, and what a typed text means. Pure. */
import { label } from "../dialogs/plain";

export interface ArgumentRow {
  readonly name: string;
  readonly isRequired: boolean;
  readonly kind: "text" | "number" | "boolean" | "choice" | "json";
  readonly choices: readonly string[];
  readonly description: string;
  /** As JSON; undefined where there is none. */
  readonly byDefault: string | undefined;
}

interface PropertySchema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly PropertySchema[];
  readonly description?: string;
  readonly default?: unknown;
}

/** The arguments of a tool, those that it needs first. */
export function argumentRows(schema: object): ArgumentRow[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, PropertySchema>;
    required?: readonly string[];
  };
  const rows = Object.entries(properties).map(([name, property]) => rowOf(name, property, required.includes(name)));
  return [...rows.filter(({ isRequired }) => isRequired), ...rows.filter(({ isRequired }) => !isRequired)];
}

function rowOf(name: string, property: PropertySchema, isRequired: boolean): ArgumentRow {
  const real =
    property.anyOf?.find(({ type, enum: values }) => values !== undefined || (type !== undefined && type !== "null")) ??
    property;
  const choices = (real.enum ?? []).filter((value): value is string => typeof value === "string");
  return {
    name,
    isRequired,
    kind: kindOf(real, choices),
    choices,
    description: property.description ?? "",
    byDefault: property.default === undefined ? undefined : JSON.stringify(property.default),
  };
}

function kindOf(property: PropertySchema, choices: readonly string[]): ArgumentRow["kind"] {
  if (choices.length > 0) {
    return "choice";
  }
  switch (property.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    default:
      return "json";
  }
}

/** The names of those that the tool needs and that have no value yet. */
export function missing(rows: readonly ArgumentRow[], values: Readonly<Record<string, unknown>>): string[] {
  return rows.filter(({ name, isRequired }) => isRequired && values[name] === undefined).map(({ name }) => name);
}

/** What a typed text is as a value, or why it is none. */
export function readValue(row: ArgumentRow, typed: string): { readonly value: unknown } | { readonly trouble: string } {
  switch (row.kind) {
    case "text":
    case "choice":
      // One line is entered; `\n` and `\t` are what cannot be typed there.
      return { value: typed.replace(/\\([nt\\])/g, (_, mark: string) => ({ n: "\n", t: "\t" })[mark] ?? "\\") };
    case "number": {
      const number = Number(typed);
      return typed.trim() === "" || !Number.isFinite(number) ? { trouble: "This is no number." } : { value: number };
    }
    case "boolean":
      return { value: typed === "true" };
    default:
      try {
        return { value: JSON.parse(typed) as unknown };
      } catch {
        return { trouble: "This is no JSON." };
      }
  }
}

/** A value as it is shown in its row. */
export function shownValue(value: unknown): string {
  return value === undefined ? "" : label(typeof value === "string" ? value : JSON.stringify(value), 100);
}

/** The text to begin with where a value is changed. */
export function typedOf(row: ArgumentRow, value: unknown): string {
  if (value === undefined) {
    return "";
  }
  if (row.kind === "text" && typeof value === "string") {
    return value
      .replace(/\\(?=[nt\\])/g, "\\\\")
      .replaceAll("\n", "\\n")
      .replaceAll("\t", "\\t");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The first sentence of a description. */
export function firstSentence(description: string): string {
  const sentence = /^.*?[.:](?=\s|$)/s.exec(description)?.[0] ?? description;
  return sentence.replace(/:$/, ".");
}
