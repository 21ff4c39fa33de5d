//! Rows as Parquet: only what all engines read alike (data pages v1, Snappy, dictionaries for text, no nesting).

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{ColumnPath, Type as Field, TypePtr};

use crate::tables::{Column, Row, SCHEMA, Type, Value};

/// What every such file begins with.
pub const BEGINS: &[u8] = b"PAR1";

/// Rows of a row group; it may have more, as a rank is never split.
const GROUP: usize = 65_536;

/// Writes rows of one table of one run.
pub struct ParquetWriter<R: 'static, W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Vec<R>,
}

impl<R: Row, W: Write + Send> ParquetWriter<R, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, run: &str) -> io::Result<Self> {
        let entry =
            |key: &str, value: &str| KeyValue::new(format!("stallscope.{key}"), value.to_owned());
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_max_row_group_row_count(None)
            .set_created_by(concat!("stallscope version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![
                entry("schema", &SCHEMA.to_string()),
                entry("table", R::TABLE),
                entry("version", env!("CARGO_PKG_VERSION")),
                entry("run", run),
            ]));
        for column in R::COLUMNS {
            let text = column.kind() == Type::Text;
            let path = ColumnPath::from(column.name);
            properties = properties.set_column_dictionary_enabled(path, text);
        }
        let schema = schema::<R>().map_err(failed)?;
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()));
        Ok(Self {
            file: file.map_err(failed)?,
            rows: Vec::new(),
        })
    }

    /// Adds rows, which stay together: those of one rank, or a part of them that is a row group.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add(&mut self, rows: Vec<R>) -> io::Result<()> {
        if self.rows.is_empty() {
            self.rows = rows;
        } else {
            self.rows.extend(rows);
        }
        match self.rows.len() < GROUP {
            true => Ok(()),
            false => self.write_group().map_err(failed),
        }
    }

    /// Bytes that were written: rows that are no row group yet are not in it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.file.bytes_written()
    }

    /// It is whole.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.rows.is_empty() {
            self.write_group().map_err(failed)?;
        }
        self.file.into_inner().map_err(failed)
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.file.next_row_group()?;
        for column in R::COLUMNS {
            let Some(mut out) = group.next_column()? else {
                return Err(ParquetError::General("a column too many".to_owned()));
            };
            match column.kind() {
                Type::Text => {
                    let mut last: Option<(&str, ByteArray)> = None;
                    put::<R, ByteArrayType>(&mut out, column, &rows, |value| {
                        let Value::Text(text) = value else {
                            return None;
                        };
                        // Rows of one rank share their texts.
                        let same = |(old, _): &&(&str, ByteArray)| std::ptr::eq(*old, text);
                        let bytes = match last.as_ref().filter(same) {
                            Some((_, bytes)) => bytes.clone(),
                            None => ByteArray::from(text),
                        };
                        last = Some((text, bytes.clone()));
                        Some(bytes)
                    })?;
                }
                Type::I32 => put::<R, Int32Type>(&mut out, column, &rows, |v| match v {
                    Value::I32(n) => Some(n),
                    _ => None,
                })?,
                Type::I64 => put::<R, Int64Type>(&mut out, column, &rows, |v| match v {
                    Value::I64(n) => Some(n),
                    _ => None,
                })?,
                Type::Bool => put::<R, BoolType>(&mut out, column, &rows, |v| match v {
                    Value::Bool(is) => Some(is),
                    _ => None,
                })?,
            }
            out.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Writes a column of a row group.
fn put<'a, R, D: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    column: &Column<R>,
    rows: &'a [R],
    mut get: impl FnMut(Value<'a>) -> Option<D::T>,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(rows.len());
    let mut levels = Vec::with_capacity(rows.len());
    for row in rows {
        let value = get(column.value(row));
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    let levels = column.nullable().then_some(&levels[..]);
    out.typed::<D>().write_batch(&values, levels, None)?;
    Ok(())
}

fn schema<R: Row>() -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::with_capacity(R::COLUMNS.len());
    for column in R::COLUMNS {
        let physical = match column.kind() {
            Type::Text => Physical::BYTE_ARRAY,
            Type::I32 => Physical::INT32,
            Type::I64 => Physical::INT64,
            Type::Bool => Physical::BOOLEAN,
        };
        let mut field = Field::primitive_type_builder(column.name, physical).with_repetition(
            match column.nullable() {
                true => Repetition::OPTIONAL,
                false => Repetition::REQUIRED,
            },
        );
        if column.kind() == Type::Text {
            field = field
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8);
        }
        fields.push(Arc::new(field.build()?));
    }
    let table = Field::group_type_builder(R::TABLE).with_fields(fields);
    Ok(Arc::new(table.build()?))
}

/// An error of the output, or of the encoder.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
