//! Types, which are written as expressions (GRAMMAR rule 12).

use outpost_grammar::SourceId;
use outpost_grammar::tree::{Expr as Tree, ExprKind as Kind, Member, Operator, PostfixOperation};
use outpost_stdlib::Type;
use outpost_stdlib::types::{Entity, FieldType, NamedId, ObjectType};
use std::sync::Arc;

use crate::context::Context;
use crate::infer::types::{definition, fits, nullable, without_null};
use crate::resolve::Meaning;
use crate::resolve::suggest::nearest;
use crate::rules;

/// The names of the types that are always there.
pub(crate) const NAMES: &[&str] = &[
    "string", "int", "number", "bool", "duration", "size", "money", "json", "null", "list", "map",
];

impl<'t> Context<'t> {
    /// The type that an expression stands for; `entities` allows `Sandbox` and `Agent`.
    pub(crate) fn type_of(&mut self, source: SourceId, expr: &'t Tree<'t>, entities: bool) -> Type {
        let at = outpost_grammar::Location::new(source, expr.span);
        match &expr.kind {
            Kind::Broken => Type::Unknown,
            Kind::Null => Type::Null,
            Kind::Parens(inner) => self.type_of(source, inner, entities),
            Kind::Text(text) => {
                let declared = self.binding(source, text).filter(|binding| {
                    matches!(self.bindings[*binding as usize].meaning, Meaning::Type(_))
                });
                if let Some(binding) = declared {
                    self.mark(binding);
                    self.report(rules::types::quoted_type(at, text));
                    return Type::Unknown;
                }
                Type::Literal(Arc::from(&**text))
            }
            Kind::Name(name) => self.named_type(source, at, name, entities),
            Kind::Generic(generic) => {
                let inner = Arc::new(self.type_of(source, &generic.argument, false));
                match generic.name.text {
                    "map" => Type::Map(inner),
                    _ => Type::List(inner),
                }
            }
            Kind::Object(members) => self.object_type(source, members),
            Kind::Chain(chain)
                if chain
                    .rest
                    .iter()
                    .all(|(operator, _, _)| *operator == Operator::Union) =>
            {
                let members = chain.rest.iter().map(|(_, _, member)| member);
                self.union_of(source, std::iter::once(&chain.first).chain(members))
            }
            Kind::Postfix(postfix) => match &postfix.operations[..] {
                [PostfixOperation::Optional { .. }] => {
                    let inner = self.type_of(source, &postfix.base, false);
                    nullable(&inner)
                }
                [PostfixOperation::Field { name, .. }, rest @ ..] => {
                    let Kind::Name(file) = postfix.base.kind else {
                        self.report(rules::types::not_a_type(at, self.text_at(at)));
                        return Type::Unknown;
                    };
                    let found = self.qualified_binding(source, file, name);
                    let kind =
                        match found.map(|found| (found, self.bindings[found as usize].meaning)) {
                            Some((_, Meaning::Type(id))) => self.reference_to_type(id),
                            Some((found, _)) => {
                                let kind = self.kind_of(found);
                                self.report(rules::names::wrong_kind(at, name.text, kind, "type"));
                                Type::Unknown
                            }
                            None => Type::Unknown,
                        };
                    match rest {
                        [] => kind,
                        [PostfixOperation::Optional { .. }] => nullable(&kind),
                        _ => {
                            self.report(rules::types::not_a_type(at, self.text_at(at)));
                            Type::Unknown
                        }
                    }
                }
                _ => {
                    self.report(rules::types::not_a_type(at, self.text_at(at)));
                    Type::Unknown
                }
            },
            _ => {
                self.report(rules::types::not_a_type(at, self.text_at(at)));
                Type::Unknown
            }
        }
    }

    /// `"a" | "b"`, and `null`: a union of anything else could not be told apart where it is read.
    fn union_of(&mut self, source: SourceId, members: impl Iterator<Item = &'t Tree<'t>>) -> Type {
        let mut union = Union::default();
        let mut other: Option<(outpost_grammar::Location, Type)> = None;
        for member in members {
            let kind = self.type_of(source, member, false);
            let resolved = without_null(definition(&kind, &self.program.types));
            let fits = matches!(
                definition(resolved, &self.program.types),
                Type::Literal(_) | Type::Union(_) | Type::Null | Type::Unknown
            );
            if !fits && other.is_none() {
                let at = outpost_grammar::Location::new(source, member.span);
                other = Some((at, kind.clone()));
            }
            union.add(kind, &self.program.types);
        }
        let Some((at, kind)) = other else {
            return union.finish();
        };
        let text = |kind: &Type| matches!(kind, Type::Literal(_) | Type::String);
        let texts = union.members.iter().all(text);
        let alone = union.members.len() == 1;
        if alone {
            // `string | null` is `string?`, written in another way.
            self.report(rules::types::union_with_null(at, self.text_at(at)));
            return union.finish();
        }
        self.report(rules::types::mixed_union(at, &kind, texts));
        Type::Unknown
    }

    fn reference_to_type(&self, id: u32) -> Type {
        Type::Named(NamedId(id), self.program.types[id as usize].name.clone())
    }

    fn named_type(
        &mut self,
        source: SourceId,
        at: outpost_grammar::Location,
        name: &'t str,
        entities: bool,
    ) -> Type {
        if let Some(binding) = self.binding(source, name) {
            self.mark(binding);
            return match self.bindings[binding as usize].meaning {
                Meaning::Type(id) => self.reference_to_type(id),
                Meaning::Broken => Type::Unknown,
                _ => {
                    let kind = self.kind_of(binding);
                    self.report(rules::names::wrong_kind(at, name, kind, "type"));
                    Type::Unknown
                }
            };
        }
        match name {
            "string" => Type::String,
            "int" => Type::Int,
            "number" => Type::Number,
            "bool" => Type::Bool,
            "duration" => Type::Duration,
            "size" => Type::Size,
            "money" => Type::Money,
            "json" => Type::Json,
            "Sandbox" if entities => Type::Entity(Entity::Sandbox),
            "Agent" if entities => Type::Entity(Entity::Agent),
            "Sandbox" | "Agent" => {
                self.report(rules::types::misplaced_entity(at, name));
                Type::Unknown
            }
            _ => {
                let mut names: Vec<&str> = NAMES.to_vec();
                names.extend(self.names_of(source, |meaning| matches!(meaning, Meaning::Type(_))));
                let near = nearest(name, names.iter().copied());
                self.mark_suggested(source, near.as_ref());
                self.report(rules::names::unknown_type(at, name, near.as_ref()));
                Type::Unknown
            }
        }
    }

    fn object_type(&mut self, source: SourceId, members: &'t [Member<'t>]) -> Type {
        let mut fields: Vec<FieldType> = Vec::with_capacity(members.len());
        for member in members {
            match member {
                Member::Pair {
                    key,
                    optional,
                    value,
                } => {
                    if fields.iter().any(|field| *field.name == *key.text) {
                        let at = outpost_grammar::Location::new(source, key.span);
                        let first = members.iter().find_map(|other| match other {
                            Member::Pair { key: first, .. } if first.text == key.text => {
                                Some(first.span)
                            }
                            _ => None,
                        });
                        let first =
                            outpost_grammar::Location::new(source, first.unwrap_or(key.span));
                        self.report(rules::types::duplicate_key(at, &key.text, first));
                        continue;
                    }
                    let kind = self.type_of(source, value, false);
                    fields.push(FieldType {
                        name: Arc::from(&*key.text),
                        kind,
                        optional: *optional,
                    });
                }
                Member::Shorthand(name) => {
                    let at = outpost_grammar::Location::new(source, name.span);
                    self.report(rules::types::field_without_type(at, name.text));
                }
                Member::Spread(expr) => {
                    let at = outpost_grammar::Location::new(source, expr.span);
                    self.report(rules::types::not_a_type(at, self.text_at(at)));
                }
            }
        }
        Type::Object(Arc::new(ObjectType { fields }))
    }
}

/// The members of a union, flat, each once; null makes it nullable.
#[derive(Default)]
struct Union {
    members: Vec<Type>,
    null: bool,
}

impl Union {
    fn add(&mut self, kind: Type, types: &[crate::program::NamedType]) {
        match kind {
            Type::Null => self.null = true,
            Type::Nullable(inner) => {
                self.null = true;
                self.add((*inner).clone(), types);
            }
            Type::Union(members) => {
                for member in members.iter() {
                    self.add(member.clone(), types);
                }
            }
            Type::Named(..) => {
                // A named union of texts is flattened, so that its members can be matched.
                let resolved = crate::infer::types::definition(&kind, types).clone();
                match resolved {
                    Type::Union(_) | Type::Nullable(_) => self.add(resolved, types),
                    _ => self.push(kind, types),
                }
            }
            kind => self.push(kind, types),
        }
    }

    fn push(&mut self, kind: Type, types: &[crate::program::NamedType]) {
        if !self
            .members
            .iter()
            .any(|member| fits(&kind, member, types) && fits(member, &kind, types))
        {
            self.members.push(kind);
        }
    }

    fn finish(mut self) -> Type {
        let kind = match self.members.len() {
            0 => Type::Null,
            1 => self.members.remove(0),
            _ if self.members.contains(&Type::Unknown) => Type::Unknown,
            _ => Type::Union(self.members.into()),
        };
        if self.null { nullable(&kind) } else { kind }
    }
}
