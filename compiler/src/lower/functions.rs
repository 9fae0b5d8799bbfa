//! Named types and pure functions.

use outpost_grammar::tree::{
    Expr as Tree, ExprKind as Kind, Member, PostfixOperation as Operation,
};
use outpost_grammar::{Location, SourceId, Span};
use outpost_stdlib::Type;
use std::sync::Arc;

use crate::context::{Context, Signature};
use crate::infer::scope::Scope;
use crate::program::{Function, Param};
use crate::resolve::Meaning;
use crate::resolve::order::Graph;
use crate::resolve::references;
use crate::rules;

impl<'t> Context<'t> {
    /// The definitions of named types, each after those that it is made of.
    pub(crate) fn lower_types(&mut self) {
        let declared = self.declared.types.clone();
        let mut edges: Vec<Vec<(u32, Span)>> = Vec::with_capacity(declared.len());
        for (source, _, definition) in &declared {
            let mut found = Vec::new();
            self.types_inside(*source, definition, false, &mut found);
            edges.push(found);
        }
        let graph = Graph::new(edges.iter().map(|list| list.iter().map(|edge| edge.0)));
        for component in graph.components() {
            if graph.is_cycle(&component) {
                self.type_cycle(&graph, &component, &edges);
                continue;
            }
            let (source, _, definition) = declared[component[0] as usize];
            let kind = self.type_of(source, definition, false);
            self.program.types[component[0] as usize].definition = kind;
        }
    }

    fn type_cycle(&mut self, graph: &Graph, component: &[u32], edges: &[Vec<(u32, Span)>]) {
        let first = component.iter().copied().min().unwrap_or(0);
        let (source, name, _) = self.declared.types[first as usize];
        let inside = |edge: &&(u32, Span)| component.contains(&edge.0);
        let Some((next, span)) = edges[first as usize].iter().find(inside) else {
            return;
        };
        let mut path = vec![first];
        path.extend(graph.path(*next, first, component));
        let names: Vec<&str> = path
            .iter()
            .map(|id| self.declared.types[*id as usize].1.text)
            .collect();
        let declared = Location::new(source, name.span);
        let diagnostic =
            rules::types::recursive_type(Location::new(source, *span), &names, declared);
        self.report(diagnostic);
        for id in component {
            let (source, _, definition) = self.declared.types[*id as usize];
            self.touch(source, definition);
        }
    }

    /// The named types that a type holds directly: not inside a list, a map or an optional field.
    fn types_inside(
        &self,
        source: SourceId,
        expr: &'t Tree<'t>,
        guarded: bool,
        found: &mut Vec<(u32, Span)>,
    ) {
        if guarded {
            return;
        }
        match &expr.kind {
            Kind::Name(name) => {
                if let Some(binding) = self.binding(source, name)
                    && let Meaning::Type(id) = self.bindings[binding as usize].meaning
                {
                    found.push((id, expr.span));
                }
            }
            Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                (Kind::Name(file), [Operation::Field { name, .. }, ..]) => {
                    if let Some(binding) = self.binding(source, file)
                        && let Meaning::File(target) = self.bindings[binding as usize].meaning
                        && let Some(member) = self.binding(target, name.text)
                        && let Meaning::Type(id) = self.bindings[member as usize].meaning
                    {
                        found.push((id, name.span));
                    }
                }
                _ => self.types_inside(source, &postfix.base, false, found),
            },
            Kind::Object(members) => {
                for member in members {
                    if let Member::Pair {
                        value, optional, ..
                    } = member
                    {
                        self.types_inside(source, value, *optional, found);
                    }
                }
            }
            Kind::Chain(chain) => {
                self.types_inside(source, &chain.first, false, found);
                for (_, _, member) in &chain.rest {
                    self.types_inside(source, member, false, found);
                }
            }
            Kind::Parens(inner) => self.types_inside(source, inner, false, found),
            _ => {}
        }
    }

    /// The signatures of functions.
    pub(crate) fn declare_functions(&mut self) {
        for (source, function) in self.declared.functions.clone() {
            let mut params: Vec<(Arc<str>, Type, bool)> = Vec::with_capacity(function.params.len());
            let mut optional: Option<Location> = None;
            for param in &function.params {
                let at = Location::new(source, param.name.span);
                let kind = self.type_of(source, &param.kind, false);
                if params.iter().any(|(name, _, _)| **name == *param.name.text) {
                    let first = function
                        .params
                        .iter()
                        .find(|other| other.name.text == param.name.text)
                        .map_or(at, |other| Location::new(source, other.name.span));
                    self.report(rules::names::duplicate_name(
                        at,
                        param.name.text,
                        "parameter",
                        first,
                    ));
                }
                match (&param.default, optional) {
                    (Some(_), _) => optional = Some(at),
                    (None, Some(before)) => self.report(rules::names::required_after_optional(
                        at,
                        param.name.text,
                        before,
                    )),
                    (None, None) => {}
                }
                params.push((Arc::from(param.name.text), kind, param.default.is_some()));
            }
            let result = self.type_of(source, &function.result, false);
            self.signatures.push(Arc::new(Signature { params, result }));
        }
    }

    /// The bodies of functions.
    pub(crate) fn lower_functions(&mut self) {
        self.recursive_functions();
        for (id, (source, function)) in self.declared.functions.clone().into_iter().enumerate() {
            let signature = self.signatures[id].clone();
            for (param, (name, kind, _)) in function.params.iter().zip(&signature.params) {
                if let Some(default) = &param.default {
                    let mut scope = Scope::file(source, "a default");
                    let by = format!("parameter `{name}`");
                    let lowered = self.expect(&mut scope, default, kind, &by);
                    self.defaults.insert((id as u32, name.clone()), lowered);
                }
            }
        }
        for (id, (source, function)) in self.declared.functions.clone().into_iter().enumerate() {
            let signature = self.signatures[id].clone();
            let mut scope = Scope::file(source, "a function");
            let mut params = Vec::with_capacity(signature.params.len());
            for (param, (name, kind, _)) in function.params.iter().zip(&signature.params) {
                scope.declare(param.name.text, kind.clone());
                params.push(Param {
                    name: name.clone(),
                    kind: kind.clone(),
                    default: self.defaults.get(&(id as u32, name.clone())).cloned(),
                });
            }
            let by = format!("the result of `{}`", function.name.text);
            let body = self.expect(&mut scope, &function.body, &signature.result, &by);
            self.program.functions.push(Function {
                name: Arc::from(function.name.text),
                at: Location::new(source, function.name.span),
                params,
                result: signature.result.clone(),
                locals: scope.frame_size,
                body,
            });
        }
    }

    /// Functions that call themselves, directly or through others.
    fn recursive_functions(&mut self) {
        let declared = self.declared.functions.clone();
        let mut edges: Vec<Vec<(u32, Location)>> = Vec::with_capacity(declared.len());
        for (source, function) in &declared {
            let mut found = Vec::new();
            self.calls_inside(*source, &function.body, &mut found);
            edges.push(found);
        }
        let graph = Graph::new(edges.iter().map(|list| list.iter().map(|edge| edge.0)));
        for component in graph.components() {
            if !graph.is_cycle(&component) {
                continue;
            }
            let first = component.iter().copied().min().unwrap_or(0);
            let edge = edges[first as usize]
                .iter()
                .find(|edge| component.contains(&edge.0));
            let Some((next, at)) = edge.copied() else {
                continue;
            };
            let mut path = vec![first];
            if next == first {
                path.push(first);
            } else {
                path.extend(graph.path(next, first, &component));
            }
            let names: Vec<&str> = path
                .iter()
                .map(|id| declared[*id as usize].1.name.text)
                .collect();
            let others: Vec<Location> = path[1..]
                .windows(2)
                .filter_map(|pair| {
                    edges[pair[0] as usize]
                        .iter()
                        .find(|edge| edge.0 == pair[1])
                })
                .map(|edge| edge.1)
                .collect();
            self.report(rules::graph::recursive_function(at, &names, &others));
        }
    }

    fn calls_inside(&self, source: SourceId, expr: &'t Tree<'t>, found: &mut Vec<(u32, Location)>) {
        if let Kind::Postfix(postfix) = &expr.kind
            && let Kind::Name(name) = &postfix.base.kind
        {
            let called = match &postfix.operations[..] {
                [Operation::Call { .. }, ..] => self
                    .binding(source, name)
                    .map(|binding| (binding, postfix.base.span)),
                [
                    Operation::Field { name: member, .. },
                    Operation::Call { .. },
                    ..,
                ] => {
                    match self
                        .binding(source, name)
                        .map(|file| self.bindings[file as usize].meaning)
                    {
                        Some(Meaning::File(target)) => self
                            .binding(target, member.text)
                            .map(|binding| (binding, member.span)),
                        _ => None,
                    }
                }
                _ => None,
            };
            if let Some((binding, span)) = called
                && let Meaning::Function(id) = self.bindings[binding as usize].meaning
            {
                found.push((id, Location::new(source, span)));
            }
        }
        references::children(expr, &mut |child| self.calls_inside(source, child, found));
    }
}
